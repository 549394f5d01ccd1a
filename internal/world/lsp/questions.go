package lsp

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// maxAnswer is how long a server may take for an answer, the time included that it
// needs to read the project first.
const maxAnswer = 90 * time.Second

// about are the parameters of a question about a file, or a place in it.
func about(path string, at *Position) map[string]any {
	params := map[string]any{"textDocument": map[string]string{"uri": URI(path)}}
	if at != nil {
		params["position"] = *at
	}
	return params
}

// activity is the work that a server says it does.
type activity struct {
	mu      sync.Mutex
	active  map[string]bool
	changed chan struct{}
}

// maxActive is how many pieces of work are counted at a time.
const maxActive = 100

func (a *activity) progress(params json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"token"`
		Value struct {
			Kind string `json:"kind"`
		} `json:"value"`
	}
	if json.Unmarshal(params, &p) != nil || len(p.Token) > 200 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case p.Value.Kind == "begin" && len(a.active) < maxActive:
		if a.active == nil {
			a.active = make(map[string]bool)
		}
		a.active[string(p.Token)] = true
	case p.Value.Kind == "end":
		delete(a.active, string(p.Token))
	default:
		return
	}
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// idle waits until the server does nothing for a while: right after its start many
// answer before they have read the project.
func (a *activity) idle(ctx context.Context, ended <-chan struct{}) {
	const pause = 300 * time.Millisecond
	for {
		a.mu.Lock()
		if a.changed == nil {
			a.changed = make(chan struct{})
		}
		next, working := a.changed, len(a.active) > 0
		a.mu.Unlock()
		var rest <-chan time.Time
		if !working {
			rest = time.After(pause)
		}
		select {
		case <-next:
		case <-rest:
			return
		case <-ended:
			return
		case <-ctx.Done():
			return
		}
	}
}
