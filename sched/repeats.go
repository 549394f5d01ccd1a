package sched

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
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
func (r *Repeats) note(f *flight) *Outcome {
	out := f.done
	if r == nil || f.marks.Polling || out.Status == Cancelled {
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
	call := sum(out.Tool, out.Agent, out.Input)
	result := sum(out.Status, out.Result.Content)
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.calls[call]
	if seen == nil || seen.result != result {
		seen = &repeat{result: result}
		r.calls[call] = seen
	}
	seen.times++
	return seen.times
}

func sum(parts ...any) digest {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, p := range parts {
		if err := enc.Encode(p); err != nil {
			panic("sched: encode for a digest: " + err.Error()) // strings, bytes and blocks encode
		}
	}
	return digest(h.Sum(nil))
}
