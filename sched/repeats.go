package sched

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/tool"
)

// Repeats watches the calls of a turn for a model that goes in circles: the same call with
// the same result, again and again, while nothing else is learned. Only what happened within
// the last repeatWindow calls counts: who comes back to a file after a long look elsewhere,
// or after a compaction, reads it again for a reason. Work in rounds, such as an edit and a
// check, is not that: what happens in between restarts the count. It is safe for concurrent
// use. A nil Repeats watches nothing.
type Repeats struct {
	limits RepeatLimits
	mu     sync.Mutex
	calls  map[digest]*repeat
	noted  int // how many calls there were
	news   int // grows with each call or result that is not among the last, and with time spent waiting
	writes int // grows with a call that may have changed something
}

// repeatWindow is how many calls a model may be expected to remember the result of one, and
// the longest circle that is noticed.
const repeatWindow = 20

// RepeatLimits say how many repetitions are too many. Calls that take longer than slowCall,
// such as those that wait for something, may be repeated three times as often.
type RepeatLimits struct {
	// Nudge is how many times a call may give the same result before the model is told; 0
	// means 3, -1 never.
	Nudge int
	// Stop is how many such results end the turn; 0 means 8, -1 never.
	Stop int
}

const (
	slowCall  = 2 * time.Second
	slowTimes = 3
	// longWait is how long a waiting call must take so that what follows counts as a new
	// look and not as a repetition.
	longWait = time.Second
)

type digest = [sha256.Size]byte

// A repeat is a call, with the last of its results.
type repeat struct {
	result       digest
	results      map[digest]int // when it had each
	last         int            // when it was made
	times        int
	news, writes int // as of the last time
}

// NewRepeats returns a watch for one turn.
func NewRepeats(limits RepeatLimits) *Repeats {
	limits.Nudge = cmp.Or(limits.Nudge, 3)
	limits.Stop = cmp.Or(limits.Stop, 8)
	return &Repeats{limits: limits, calls: make(map[digest]*repeat)}
}

// note counts an outcome and returns it, with anything that must be said about it. It is
// given outcomes in the order of the conversation.
func (r *Repeats) note(f *execution) *Outcome {
	out := f.done
	// A cancelled call may still be running, and its facts changing.
	if r == nil || out.Status == Cancelled {
		return out
	}
	var marks tool.Marks
	if f.facts != nil {
		marks = f.facts.Marks
	}
	took := out.Ended.Sub(out.Started)
	if marks.Polling {
		r.waited(took)
		return out
	}
	times := r.count(out, f.whole, out.Status == Succeeded && !marks.ReadOnly)
	nudge, stop := r.limits.Nudge, r.limits.Stop
	if took >= slowCall {
		nudge, stop = nudge*slowTimes, stop*slowTimes
	}
	ends := stop > 0 && times >= stop
	if times != nudge && !ends {
		return out
	}
	noted := *out // observers hold the original
	text := fmt.Sprintf("You have made the same %s call with the same result %d times, and nothing has changed in between. Repeating it will not help: change the input, try another way, or say what is stopping you.", out.Tool, times)
	if stop > 0 && !ends {
		text += fmt.Sprintf(" The turn ends after %d times.", stop)
	}
	noted.Notes = append(slices.Clip(out.Notes), text)
	if ends {
		noted.Stop = fmt.Sprintf("the model repeated the same %s call with the same result %d times, and nothing changed in between", out.Tool, times)
	}
	return &noted
}

// waited records that the model let time pass: what it looks at next may have changed.
func (r *Repeats) waited(took time.Duration) {
	if took < longWait {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.news++
}

// Forget starts afresh: the model has been told something new, or no longer knows what it knew.
func (r *Repeats) Forget() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.calls)
}

// count returns how often a call has given the same result with nothing effective in
// between. For a call that only reads, a write by another call is effective; for every
// call, a call or result that is not among the last ones is.
func (r *Repeats) count(out *Outcome, content []tool.Block, writes bool) int {
	call := sum([]byte(out.Tool), []byte(out.Agent), out.Input)
	parts := [][]byte{{byte(out.Status)}}
	for _, b := range content {
		parts = append(parts, []byte(b.Type), []byte(b.Text), b.Data)
	}
	result := sum(parts...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noted++
	r.prune()
	seen := r.calls[call]
	if seen == nil {
		seen = &repeat{results: make(map[digest]int)}
		r.calls[call] = seen
	}
	if at, ok := seen.results[result]; !ok || r.noted-at > repeatWindow {
		r.news++
	}
	if seen.result != result || seen.news != r.news || !writes && seen.writes != r.writes {
		seen.times = 0
	}
	if writes {
		r.writes++
	}
	seen.results[result], seen.last = r.noted, r.noted
	seen.result, seen.news, seen.writes = result, r.news, r.writes
	seen.times++
	return seen.times
}

// prune forgets calls that no longer count, so that a long turn does not keep all of them.
func (r *Repeats) prune() {
	if len(r.calls) > 4*repeatWindow {
		maps.DeleteFunc(r.calls, func(_ digest, seen *repeat) bool { return r.noted-seen.last > repeatWindow })
	}
}

// sum digests parts so that no two lists of parts read the same.
func sum(parts ...[]byte) digest {
	h := sha256.New()
	for _, p := range parts {
		binary.Write(h, binary.BigEndian, int64(len(p)))
		h.Write(p)
	}
	return digest(h.Sum(nil))
}
