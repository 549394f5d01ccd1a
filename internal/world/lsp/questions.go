package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// ask asks about a file as it is now.
func (c *Client) ask(ctx context.Context, path, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxAnswer, fmt.Errorf("it did not answer within %v", maxAnswer))
	defer cancel()
	c.refresh()
	if path != "" {
		if _, err := c.show(path); err != nil {
			return err
		}
	}
	c.settled.Do(func() { c.busy.idle(ctx, c.conn.closed) })
	return c.call(ctx, method, params, result)
}

// call asks again while the server says that what it looked at has changed meanwhile.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	for try := 0; ; try++ {
		err := c.conn.call(ctx, method, params, result)
		var refused *refusal
		if err == nil || !errors.As(err, &refused) || refused.Code != codeContentModified || try == 10 {
			if err != nil && refused == nil {
				err = c.explain(ctx, err)
			}
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Text is the text of a file as the server was last sent it.
func (c *Client) Text(path string) (string, error) {
	doc, err := c.show(path)
	return doc.text, err
}

// Definition returns where the name at a place is defined.
func (c *Client) Definition(ctx context.Context, path string, at Position) ([]Location, error) {
	var found locations
	err := c.ask(ctx, path, "textDocument/definition", about(path, &at), &found)
	return found, err
}

// Implementation returns what implements the interface or method at a place.
func (c *Client) Implementation(ctx context.Context, path string, at Position) ([]Location, error) {
	var found locations
	err := c.ask(ctx, path, "textDocument/implementation", about(path, &at), &found)
	return found, err
}

// References returns where the name at a place is used, its declaration included.
func (c *Client) References(ctx context.Context, path string, at Position) ([]Location, error) {
	params := about(path, &at)
	params["context"] = map[string]bool{"includeDeclaration": true}
	var found locations
	err := c.ask(ctx, path, "textDocument/references", params, &found)
	return found, err
}

// Hover returns what the server says about the name at a place, as Markdown.
func (c *Client) Hover(ctx context.Context, path string, at Position) (string, error) {
	var found struct {
		Contents json.RawMessage `json:"contents"`
	}
	err := c.ask(ctx, path, "textDocument/hover", about(path, &at), &found)
	return hoverText(found.Contents), err
}

// Symbols returns what a file declares.
func (c *Client) Symbols(ctx context.Context, path string) (found []Symbol, err error) {
	err = c.ask(ctx, path, "textDocument/documentSymbol", about(path, nil), &found)
	return found, err
}

// Find returns what the project declares with names like the query. The server learns
// of the project by a file of it.
func (c *Client) Find(ctx context.Context, path, query string) (found []Symbol, err error) {
	err = c.ask(ctx, path, "workspace/symbol", map[string]string{"query": query}, &found)
	return found, err
}

// Functions returns the functions that the name at a place stands for.
func (c *Client) Functions(ctx context.Context, path string, at Position) (found []CallItem, err error) {
	err = c.ask(ctx, path, "textDocument/prepareCallHierarchy", about(path, &at), &found)
	return found, err
}

// Callers returns what calls a function, and Callees what it calls.
func (c *Client) Callers(ctx context.Context, f CallItem) (found []FunctionCall, err error) {
	err = c.ask(ctx, "", "callHierarchy/incomingCalls", map[string]any{"item": f}, &found)
	return found, err
}

// Callees returns what a function calls.
func (c *Client) Callees(ctx context.Context, f CallItem) (found []FunctionCall, err error) {
	err = c.ask(ctx, "", "callHierarchy/outgoingCalls", map[string]any{"item": f}, &found)
	return found, err
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
