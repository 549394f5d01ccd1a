package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/httpgate"
	"github.com/haftdev/haft/internal/world/mcp/stdio"
	"github.com/haftdev/haft/tool"
)

// call calls a tool. A call that the server did not get, because its session
// was gone, is sent once more if the tool may be repeated; nothing else is.
func (p *peer) call(ctx context.Context, o *offer, c *tool.Call) (tool.Result, error) {
	for again := false; ; again = true {
		s, err := p.acquire(ctx)
		if err != nil {
			return tool.Result{}, forModel(ctx, err)
		}
		result, err := p.attempt(ctx, s, o, c)
		if err == nil {
			return result, nil
		}
		if !errors.Is(err, sdk.ErrSessionMissing) && !errors.Is(err, sdk.ErrConnectionClosed) {
			return tool.Result{}, p.explain(ctx, o, err)
		}
		s.lose(err)
		if again || !o.repeatable() {
			return tool.Result{}, tool.Errorf("MCP server %s lost the session during the call to %s. It is unknown whether the call took effect; check before you repeat it.", p.name, o.Name)
		}
		p.awaitLoss(ctx, s)
	}
}

// awaitLoss waits until the supervisor has taken a lost session away.
func (p *peer) awaitLoss(ctx context.Context, s *session) {
	for ctx.Err() == nil {
		p.mu.Lock()
		same := p.session == s
		p.mu.Unlock()
		if !same {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// attempt sends the call over one session.
func (p *peer) attempt(ctx context.Context, s *session, o *offer, c *tool.Call) (tool.Result, error) {
	defer p.nest(ctx)()
	ctx, done := s.within(ctx)
	defer done()
	ctx, progressed, stop := p.limit(ctx)
	defer stop()
	token, forget := s.watch(func(m tool.MCPProgress) {
		progressed()
		m.Tool = o.Name
		c.Report(m)
	})
	defer forget()
	if o.repeatable() {
		ctx = httpgate.Repeatable(ctx)
	}
	meta := sdk.Meta{"progressToken": token}
	if c.UseID != "" {
		meta["claudecode/toolUseId"] = c.UseID
	}
	if o.Meta["haft/contract"] != nil && p.cfg.kind() == SDK {
		maps.Copy(meta, callMeta(c))
	}
	raw, err := s.callTool(ctx, &toolCall{
		offer: o, args: arguments(o.names.Back(c.Input)), meta: meta, alive: progressed,
		began: func(task string) {
			if f := p.host.opts.OnTask; f != nil {
				f(Task{Server: p.name, Tool: o.Name, ID: task, Call: c.ID})
			}
		},
	})
	if err != nil {
		err = reason(ctx, err)
		var lost *lostError
		if errors.As(err, &lost) {
			s.lose(lost.cause) // the next call must not find it
		}
		return tool.Result{}, err
	}
	return p.read(o, raw)
}

// nest notes a call that is made for a sampling: while it runs, its server gets
// none of its own.
func (p *peer) nest(ctx context.Context) (leave func()) {
	if ctx.Value(samplingKey{}) == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nested++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.nested--
	}
}

// A toolCall is what a session needs to know of a call.
type toolCall struct {
	offer *offer
	args  json.RawMessage
	meta  sdk.Meta
	alive func()            // is called on every sign of life
	began func(task string) // is called when the call has become a task
}

// isTask reports whether a result is a task in the newer form.
func isTask(raw json.RawMessage) bool {
	return string(envelope.Field(raw, "resultType")) == `"task"`
}

// arguments are what is sent: servers do not take null for none.
func arguments(input json.RawMessage) json.RawMessage {
	if len(input) == 0 || string(input) == "null" {
		return json.RawMessage(`{}`)
	}
	return input
}

// limit bounds a call: as a whole, and in its silence. What it returns is
// called on every sign of life.
func (p *peer) limit(ctx context.Context) (context.Context, func(), func()) {
	opts := &p.host.opts
	wall, idle := opts.CallTimeout, opts.IdleTimeout
	if p.cfg.CallTimeout > 0 {
		wall = time.Duration(p.cfg.CallTimeout)
	}
	if idle == 0 {
		idle = 5 * time.Minute
		if p.cfg.kind() == Stdio {
			idle = 30 * time.Minute
		}
	}
	if p.cfg.IdleTimeout > 0 {
		idle = time.Duration(p.cfg.IdleTimeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	whole := time.AfterFunc(wall, func() {
		cancel(&timeoutError{fmt.Sprintf("no result within %s", wall)})
	})
	silence := time.AfterFunc(idle, func() {
		cancel(&timeoutError{fmt.Sprintf("no result and no progress for %s", idle)})
	})
	return ctx, func() { silence.Reset(idle) }, func() {
		whole.Stop()
		silence.Stop()
		cancel(nil)
	}
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

// explain makes an error for the model of a failed call. A cancelled call stays
// what it is.
func (p *peer) explain(ctx context.Context, o *offer, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var lost *lostError
	var late *timeoutError
	var rpc *jsonrpc.Error
	var ours *tool.Error
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &lost):
		return tool.Errorf("MCP server %s ended during the call to %s: %w. It is unknown whether the call took effect; check before you repeat it.", p.name, o.Name, lost)
	case errors.As(err, &late):
		return tool.Errorf("The call to %s at the MCP server %s was cancelled: %w. It may have taken partial effect.", o.Name, p.name, late)
	case errors.As(err, &rpc) && rpc.Code != codeRejected:
		return tool.Errorf("MCP error %d: %s", rpc.Code, rpc.Message)
	}
	return tool.Errorf("MCP server %s: %s: %w", p.name, o.Name, err)
}

// forModel makes an error for the model of the absence of a server.
func forModel(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return tool.Errorf("%w", err)
}
