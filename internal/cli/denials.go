package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/ask"
	"github.com/haftdev/haft/internal/headless"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/wire"
)

// lead leads a conversation to its end and returns the exit code. Who reads no
// events is told on standard error what was denied for want of somebody to ask.
func (f *converseFlags) lead(ctx context.Context, stream wire.Stream, opts *headless.Options) int {
	d := &denials{watch: opts.Watch}
	if f.Output != "stream-json" {
		d.out = f.Err
	}
	opts.Watch = d.show
	code := headless.Serve(ctx, stream, opts)
	if code == exitOK && d.n > 0 && f.onAsk == onAskFail {
		return exitDenied
	}
	return code
}

// What a question that nobody can answer does to the exit code.
const (
	onAskDeny = "deny"
	onAskFail = "fail"
)

func (f *converseFlags) checkOnAsk() error {
	if f.onAsk != onAskDeny && f.onAsk != onAskFail {
		return usageError{fmt.Errorf("--on-ask %s: use deny, or fail for exit code %d", f.onAsk, exitDenied)}
	}
	return nil
}

// denials counts the calls that were denied because nobody could be asked, or who
// was asked did not answer.
type denials struct {
	out   io.Writer               // nil: they are only counted
	watch func(agent.Event) error // that sees every event, too; nil if there is none
	n     int
}

func (d *denials) show(ev agent.Event) error {
	if r, ok := ev.(agent.Returned); ok && r.Outcome.Status == sched.Denied && r.Outcome.Verdict.Unasked {
		d.n++
		if d.out != nil {
			fmt.Fprintf(d.out, "haft: %s\n", ask.Visible(deniedLine(r.Outcome)))
		}
	}
	if d.watch == nil {
		return nil
	}
	return d.watch(ev)
}

// deniedLine says what was denied, why, and what would allow it.
func deniedLine(out *sched.Outcome) string {
	const long = 200
	what := string(out.Input)
	if len([]rune(what)) > long {
		what = string([]rune(what)[:long]) + "…"
	}
	line := fmt.Sprintf("denied %s %s: %s.%s", out.Tool, what, out.Verdict.Reason, out.Verdict.Remedy())
	if len(out.Verdict.Suggestions) > 0 {
		line += " Give it with --allowedTools, or keep it with: haft permissions add allow RULE"
	}
	return line
}
