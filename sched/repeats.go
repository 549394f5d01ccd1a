package sched

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
)

// Repeats watches the calls of a turn for a model that goes in circles: the same
// call with the same result. It is safe for concurrent use. A nil Repeats
// watches nothing.
type Repeats struct {
	limits RepeatLimits
	mu     sync.Mutex
	calls  map[digest]*repeat
}

// RepeatLimits say when a repetition is too much.
type RepeatLimits struct {
	// Nudge is how many times a call may give the same result before the model
	// is told so; 0 means 3, -1 never.
	Nudge int
	// Stop is how many times end the turn; 0 means 5, -1 never.
	Stop int
}

type digest = [sha256.Size]byte

type repeat struct {
	result digest
	times  int
}

// NewRepeats returns a watch for one turn.
func NewRepeats(limits RepeatLimits) *Repeats {
	limits.Nudge = cmp.Or(limits.Nudge, 3)
	limits.Stop = cmp.Or(limits.Stop, 5)
	return &Repeats{limits: limits, calls: make(map[digest]*repeat)}
}

// note counts an outcome and returns it, with what is to be said about it. It is
// given outcomes in the order of the conversation.
func (r *Repeats) note(f *execution) *Outcome {
	out := f.done
	// A cancelled call may still be running, and its marks changing.
	if r == nil || out.Status == Cancelled || f.marks.Polling {
		return out
	}
	times := r.count(out)
	if times != r.limits.Nudge && times != r.limits.Stop {
		return out
	}
	noted := *out // observers hold the original
	text := fmt.Sprintf("This is the same call of %s with the same result, %d times now. Repeating it will not help: change the input, try another way, or say what is in the way.", out.Tool, times)
	noted.Notes = append(slices.Clip(out.Notes), text)
	if times == r.limits.Stop {
		noted.Stop = fmt.Sprintf("the model repeated the same call of %s with the same result %d times", out.Tool, times)
	}
	return &noted
}

func (r *Repeats) count(out *Outcome) int {
	call := sum([]byte(out.Tool), []byte(out.Agent), out.Input)
	result := [][]byte{{byte(out.Status)}}
	for _, b := range out.Result.Content {
		result = append(result, []byte(b.Type), []byte(b.Text), b.Data)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.calls[call]
	if same := sum(result...); seen == nil || seen.result != same {
		seen = &repeat{result: same}
		r.calls[call] = seen
	}
	seen.times++
	return seen.times
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
