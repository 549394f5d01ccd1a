package script

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/test/strictapi"
)

// A judge refuses what the Messages API would refuse. A nil judge takes everything.
type judge struct {
	memory *strictapi.Memory

	mu      sync.Mutex
	refused []string
}

func (j *judge) found() []string {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.refused)
}

// check returns the answer to a request that the API refuses, nil to one that it takes.
func (j *judge) check(q *Request) *Fault {
	if j == nil || q.API != Messages {
		return nil
	}
	found := append(strictapi.Check(q.Header, q.Body), j.memory.Check(q.Header, q.Body)...)
	for _, v := range found {
		if !v.Refuses() {
			continue
		}
		j.mu.Lock()
		j.refused = append(j.refused, fmt.Sprintf("request with %d messages: %s", q.Messages, v))
		j.mu.Unlock()
		return &Fault{Status: v.Status, Type: v.Type, Message: v.Text()}
	}
	return nil
}

// learn remembers the thoughts of an answer.
func (j *judge) learn(a *answer) {
	if j == nil || a.req.API != Messages {
		return
	}
	raw, err := json.Marshal(a.whole())
	if err != nil {
		return // what cannot be encoded cannot be said either
	}
	var message struct {
		Content []map[string]any `json:"content"`
	}
	if json.Unmarshal(raw, &message) == nil {
		j.memory.Learn(a.req.Body, message.Content)
	}
}
