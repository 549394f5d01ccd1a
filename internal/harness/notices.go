package harness

import (
	"fmt"
	"strings"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/tool"
)

// notices bring what a person should know to the conversation. What is known
// before there is one is kept for it; a warning is told once.
type notices struct {
	mu    sync.Mutex
	early []agent.Notice
	told  map[string]bool
}

// warn tells the person of something that is wrong, the first time.
func (w *World) warn(tag, text string) {
	n := &w.notices
	n.mu.Lock()
	known := n.told[text]
	if n.told == nil || len(n.told) >= mostTold {
		n.told = make(map[string]bool)
	}
	n.told[text] = true
	n.mu.Unlock()
	if !known {
		w.notice(agent.Notice{Level: "warning", Tag: tag, Text: text})
	}
}

// mostTold bounds what is remembered: a warning that is always another one must
// not fill the memory of a session that goes on for days.
const mostTold = 1024

// notice tells the person something, now or as soon as there is a conversation.
func (w *World) notice(ev agent.Notice) {
	n := &w.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	switch a := w.talk.Load(); {
	case a != nil:
		a.Emit(ev)
	case w.opts.Notice != nil:
		w.opts.Notice(ev)
	case len(n.early) < mostTold:
		n.early = append(n.early, ev)
	}
}

// begin makes a conversation the one that is told what happens.
func (w *World) begin(a *agent.Agent) {
	n := &w.notices
	n.mu.Lock()
	for _, ev := range n.early {
		a.Emit(ev)
	}
	n.early = nil
	w.talk.Store(a)
	n.mu.Unlock()
	for _, warning := range w.Warnings() {
		w.warn(warning.Tag, warning.Text)
	}
}

// hookRan tells the person of a hook that did not work and of what one has to say.
// A program that brings hooks in code knows of those itself.
func (w *World) hookRan(r hook.Run) {
	if r.Failed() && !r.InCode {
		w.warn("hook_failed", hookFault(r))
	}
	if r.Message != "" && !r.InCode {
		w.notice(agent.Notice{Level: "notice", Tag: "hook", Text: r.Message})
	}
	if w.opts.HookRan != nil {
		w.opts.HookRan(r)
	}
}

// hookFault says what was wrong with a hook, and what came of it.
func hookFault(r hook.Run) string {
	const longest = 200
	name := []rune(strings.Join(strings.Fields(r.Hook), " "))
	if len(name) > longest {
		name = append(name[:longest], '…')
	}
	then := "it decides nothing"
	if r.Behavior == tool.Deny {
		then = `it blocks ("on_error": "continue" lets work continue without it)`
	}
	return fmt.Sprintf("%s: the %s hook %s did not work, so %s: %s", r.Origin, r.Event, string(name), then, r.Err)
}
