package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/httpgate"
	"github.com/haftdev/haft/tool"
)

//lint:file-ignore SA1019 what the newer era gives up is still spoken

type samplingKey struct{}

// defaultSamplingTokens is what a server may ask for where nothing is set.
const defaultSamplingTokens = 10_000

// A lent model is what a server may ask, and how much.
type lent struct {
	endpoint

	mu        sync.Mutex
	sampled   int // output tokens that the server asked for
	consented *bool
	sampling  bool
	nested    int // calls that are made for a sampling
}

// attempt sends the call over one session.
func (p *lent) attempt(ctx context.Context, s *session, o *offer, c *tool.Call) (tool.Result, error) {
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
func (p *lent) nest(ctx context.Context) (leave func()) {
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

// consent asks the user, once per server.
func (p *lent) consent(ctx context.Context, opts *Sampling) error {
	p.mu.Lock()
	known := p.consented
	p.mu.Unlock()
	if known == nil {
		if opts.Consent == nil || opts.Create == nil {
			return errors.New("sampling was not approved")
		}
		yes, err := opts.Consent(ctx, p.name)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.consented, known = &yes, &yes
		p.mu.Unlock()
	}
	if !*known {
		return errors.New("sampling was not approved")
	}
	return nil
}

// spend takes tokens from the server's budget.
func (p *lent) spend(opts *Sampling, tokens int) error {
	budget := opts.MaxTokens
	if budget == 0 {
		budget = defaultSamplingTokens
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if tokens <= 0 || p.sampled+tokens > budget {
		return fmt.Errorf("the sampling budget has %d of %d tokens left; %d were requested", budget-p.sampled, budget, tokens)
	}
	p.sampled += tokens
	return nil
}

func (p *lent) enterSampling() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sampling || p.nested > 0 {
		return false
	}
	p.sampling = true
	return true
}

func (p *lent) leaveSampling() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sampling = false
}

// callMeta is what a server may want to know of a call.
func callMeta(c *tool.Call) map[string]any {
	meta := map[string]any{}
	for key, value := range map[string]string{"claudecode/toolUseId": c.UseID, "haft/dir": c.Dir, "haft/approved": c.Approved} {
		if value != "" {
			meta[key] = value
		}
	}
	return meta
}
