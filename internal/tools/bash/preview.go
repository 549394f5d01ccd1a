package bash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// Previews run commands in an overlay, where they change nothing.
type Previews interface {
	// Run runs the command of a call. Nil, without an error, means that commands are not
	// previewed here.
	Run(ctx context.Context, c *tool.Call, shell *shellrun.Shell, r shellrun.Request) (Previewed, error)
}

// A Previewed is a command that has run and whose change waits to be applied.
type Previewed interface {
	Task() *shellrun.Task
	// Wanted is what the command needed and could not have, such as a host; "" for nothing.
	Wanted() string
	Preview(context.Context) (*tool.Preview, error)
	// Apply applies the change without the dropped files, completely or not at all, and
	// records it for the call.
	Apply(ctx context.Context, call string, dropped []tool.Dropped) error
	Drop() error
}

// pending is a command of a call that is asked about.
type pending struct {
	command string
	ran     Previewed
	err     error // why there is no preview
	over    bool  // the call has ended without it
	drop    func() error
}

// A pendingCall is whose it is: calls of an agent may wait at the same time.
type pendingCall struct{ agent, id string }

// preview shows what the call would change: an edit by sed without running
// anything, any other command by running it where its effects reach nothing.
func (t *Tools) preview(ctx context.Context, c *tool.Call, in Input) (*tool.Preview, error) {
	if p, err := t.previewSed(ctx, c); p != nil || err != nil {
		return p, err
	}
	p := t.find(c, in)
	if p == nil && (t.opts.Previews == nil || c.Confinement != tool.Previewed) {
		return nil, nil
	}
	if p == nil {
		p = t.runAside(ctx, c, in)
	}
	if p.err != nil || p.ran == nil {
		return nil, p.err
	}
	return p.ran.Preview(ctx)
}

// find returns what ran for the call already.
func (t *Tools) find(c *tool.Call, in Input) *pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.pending[pendingCall{c.Agent, c.ID}]; p != nil && !p.over && p.command == in.Command {
		return p
	}
	return nil
}

// Previewed reports whether a call has a change that waits to be applied.
func (t *Tools) Previewed(call string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, p := range t.pending {
		if k.id == call && p.ran != nil && !p.over {
			return true
		}
	}
	return false
}

// runAside runs the command where its effects reach nothing. What it changed is kept until
// the call ends.
func (t *Tools) runAside(called context.Context, c *tool.Call, in Input) *pending {
	p := &pending{command: in.Command, drop: func() error { return nil }}
	ctx, cancel := context.WithCancelCause(called)
	defer cancel(nil)
	waiting := &promptWatch{found: func() { cancel(errPrompt) }}
	p.ran, p.err = t.opts.Previews.Run(ctx, c, t.shell(c.Agent), shellrun.Request{
		Command: in.Command, Description: in.Description, Tag: c.UseID, Owner: c.Agent, Timeout: t.limit(in),
		OnProgress: func(p shellrun.Progress) {
			c.Report(tool.BashProgress{Output: p.Last, Lines: p.Total.Lines, Bytes: p.Total.Bytes, Elapsed: p.Elapsed})
			waiting.see(p)
		},
	})
	if p.ran != nil && p.err == nil {
		if wanted := cmp.Or(p.ran.Wanted(), t.missed(p.ran.Task())); wanted != "" {
			p.err = errors.New(wanted)
		}
	}
	if p.err != nil && p.ran != nil { // it is asked about as a command that has not run
		p.err = errors.Join(p.err, p.ran.Drop())
		p.ran = nil
	}
	if p.ran != nil {
		p.drop = sync.OnceValue(p.ran.Drop)
	}
	key := pendingCall{c.Agent, c.ID}
	t.mu.Lock()
	old := t.pending[key]
	t.pending[key] = p
	t.mu.Unlock()
	if old != nil {
		_ = old.drop() // what stays is swept later
	}
	context.AfterFunc(called, func() { _ = t.dropPreview(key, p) })
	return p
}

// missed says what a command that failed needed and could not have in a preview, as
// far as what it printed shows; "" for nothing.
func (t *Tools) missed(task *shellrun.Task) string {
	if task.Result().Status.Code == 0 {
		return ""
	}
	out, _ := t.output(task)
	wanted := out.wanted(nil, nil)
	if wanted == "" && missing().MatchString(lastBytes(out.Stdout)) {
		wanted = "use a service or process of this machine"
	}
	if wanted == "" {
		return ""
	}
	return "it tried to " + wanted + ", which a preview does not allow"
}

// missing finds complaints about services, processes and devices that are not there.
// Finding too many only means that the user is asked about the command.
var missing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)connection refused|\bECONNREFUSED\b|(?:could ?n.t|could not|cannot|can't|failed to|unable to) connect|no such process|is the docker daemon running|failed to connect to bus|not been booted with systemd|cannot open display|operation not permitted|\bEPERM\b|/dev/\w+: no such file|/(?:var/)?run/\S+: no such file|sudo: `)
})

// limit is how long a command may run.
func (t *Tools) limit(in Input) time.Duration {
	if in.Timeout > 0 {
		return time.Duration(in.Timeout) * time.Millisecond
	}
	return t.opts.Timeout
}

// take returns what ran for the call already, once.
func (t *Tools) take(c *tool.Call, in Input) *pending {
	p := t.find(c, in)
	if p != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if p.over {
			return nil
		}
		delete(t.pending, pendingCall{c.Agent, c.ID})
	}
	return p
}

// applyPreview makes the change of a command that ran already.
func (t *Tools) applyPreview(ctx context.Context, c *tool.Call, in Input, p *pending) (Output, error) {
	defer p.drop()
	shown, err := p.ran.Preview(ctx)
	if err == nil {
		err = c.Approve(shown)
	}
	if err == nil && len(c.Dropped) == 0 {
		err = p.ran.Apply(ctx, c.ID, c.Dropped)
	}
	if errors.Is(err, tool.ErrUnapproved) {
		return Output{}, err
	}
	if err != nil {
		return Output{}, tool.Errorf("The command ran, but its changes could not be applied: %w.", err)
	}
	task := p.ran.Task()
	out, _ := t.output(task)
	t.warn(&out)
	out.Confinement, out.Sandbox = tool.Previewed, task.Result().Status.Tier.String()
	out.ended(in.Command, task.Result(), t.limit(in))
	out.withheld(nil, task.Result().Status)
	for _, n := range shown.Notes {
		if strings.HasPrefix(n, "Outside the project") {
			out.note("%s", n)
		}
	}
	if strings.Contains(in.Command, "/tmp/") {
		out.note("%s", tmpNote)
	}
	if len(c.Dropped) > 0 {
		out.NotDone = fmt.Sprintf("Not applied: none of the command's changes were made. %s: %s.", c.Dropped[0].Path, c.Dropped[0].Why)
		out.Notes = append(out.Notes, droppedNote(c.Dropped))
	}
	failed := out.ExitCode != 0 && out.CodeMeaning == "" && len(shown.Files) == 0
	if t.opts.Unsandboxed && (failed || out.wanted(nil, nil) != "" || missing().MatchString(lastBytes(out.Stdout))) {
		out.note("%s", asideNote)
	}
	return out, nil
}

// tmpNote is for a command that names files there.
const tmpNote = "The command ran in a preview, where /tmp is a separate folder: only other previewed commands of this session see what it wrote there."

// asideNote is for a command that may have failed, in part, because it missed something.
const asideNote = "The command ran in a preview, without network and without access to this machine's services and processes. " +
	"If it, or part of it, failed because of that, call Bash again with dangerouslyDisableSandbox set to true. Such a call needs the user's approval."

// droppedNote says which files of a change were not changed, and why.
func droppedNote(list []tool.Dropped) string {
	const most = 50
	var b strings.Builder
	b.WriteString("The command ran in a preview, and none of its changes were applied: these files are as they were.")
	repositories := map[string]bool{}
	for i, d := range list {
		if i == most {
			fmt.Fprintf(&b, "\n- and %d more", len(list)-most)
			break
		}
		if top, _, git := strings.Cut(d.Path, "/.git/"); git { // its files mean nothing one by one
			if d.Path = top + "/.git"; repositories[d.Path] {
				continue
			}
			repositories[d.Path] = true
		}
		fmt.Fprintf(&b, "\n- %s: %s", d.Path, d.Why)
	}
	return b.String()
}

// dropPreview forgets what a call that is over left. It is known until it is gone, so that
// the end of the session waits for it.
func (t *Tools) dropPreview(key pendingCall, p *pending) error {
	t.mu.Lock()
	mine := t.pending[key] == p
	p.over = p.over || mine
	t.mu.Unlock()
	if !mine {
		return nil
	}
	err := p.drop()
	t.mu.Lock()
	if t.pending[key] == p {
		delete(t.pending, key)
	}
	t.mu.Unlock()
	if err != nil {
		return fmt.Errorf("could not discard a preview: %w", err)
	}
	return nil
}

// dropPreviews forgets what the calls of some agents left.
func (t *Tools) dropPreviews(of func(agent string) bool) error {
	t.mu.Lock()
	left := maps.Clone(t.pending)
	t.mu.Unlock()
	var failed []error
	for key, p := range left {
		if of(key.agent) {
			failed = append(failed, t.dropPreview(key, p))
		}
	}
	return errors.Join(failed...)
}
