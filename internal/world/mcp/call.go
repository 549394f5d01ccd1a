package mcp

import (
	"context"
	"encoding/json"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/stdio"
	"github.com/haftdev/haft/tool"
)

// A toolCall is what a session needs to know of a call.
type toolCall struct {
	offer *offer
	args  json.RawMessage
	meta  sdk.Meta
	alive func()            // is called on every sign of life
	began func(task string) // is called when the call has become a task
}

// arguments are what is sent: servers do not take null for none.
func arguments(input json.RawMessage) json.RawMessage {
	if len(input) == 0 || string(input) == "null" {
		return json.RawMessage(`{}`)
	}
	return input
}

// A timeoutError ends a call that takes too long.
type timeoutError struct{ text string }

func (e *timeoutError) Error() string { return e.text }

// reason is why a request failed: the end of the session or of the patience,
// rather than what the library makes of it.
func reason(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	var lost *lostError
	var late *timeoutError
	if errors.As(cause, &lost) || errors.As(cause, &late) {
		return cause
	}
	var exited *stdio.ExitError
	var closed *stdio.ClosedError
	switch {
	case errors.As(err, &exited):
		return &lostError{exited}
	case errors.As(err, &closed):
		return &lostError{closed}
	}
	return err
}

// codeRejected marks what the library could not send.
const codeRejected = -32005

// forModel makes an error for the model of the absence of a server.
func forModel(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return tool.Errorf("%w", err)
}
