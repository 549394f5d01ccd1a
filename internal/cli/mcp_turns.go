package cli

import "context"

// maxTogether is how many calls of MCP clients run at once.
const maxTogether = 32

// turns let calls run together or alone, in the order they came.
type turns struct {
	gate   chan struct{} // its holder is the next
	places chan struct{}
}

// enter waits for one place, or for all of them, and returns a function that releases them.
func (t *turns) enter(ctx context.Context, alone bool) (leave func(), err error) {
	want, got := 1, 0
	if alone {
		want = maxTogether
	}
	leave = func() {
		for range got {
			<-t.places
		}
	}
	select {
	case t.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-t.gate }()
	for got < want {
		select {
		case t.places <- struct{}{}:
			got++
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
	}
	return leave, nil
}

func newTurns() *turns {
	return &turns{gate: make(chan struct{}, 1), places: make(chan struct{}, maxTogether)}
}
