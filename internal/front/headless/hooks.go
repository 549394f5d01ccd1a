package headless

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// callbackRan reports a hook of the program itself, if it failed or has something to say.
func (s *server) callbackRan(r hook.Run) {
	switch {
	case r.Err != nil && s.hasEnded(): // it cannot be reached any more
	case r.Err != nil:
		s.tell.send(&wire.Informational{Stamp: s.tell.stamp(""), Level: "warning", Label: "hook_callback_failed", Content: fmt.Sprintf("%s hook: %v", r.Event, r.Err)})
	case r.Message != "":
		s.tell.send(&wire.Informational{Stamp: s.tell.stamp(""), Level: "info", Content: r.Message})
	}
}

// hasEnded reports whether the program has closed its input.
func (s *server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// hookEvents are the two messages about a run. There is no field for why a hook failed: the
// cause is part of the output, and is used as the error output if the hook wrote none.
func (t *teller) hookEvents(r hook.Run) (*wire.HookStarted, *wire.HookResponse) {
	id, event, name := session.NewUUID(), string(r.Event), string(r.Event)
	if r.Tool != "" {
		name += ":" + r.Tool
	}
	ended := &wire.HookResponse{Stamp: t.stamp(""), HookID: id, HookName: name, HookEvent: event, Stdout: r.Stdout, Stderr: r.Stderr, Outcome: "success"}
	parts := []string{r.Stdout, r.Stderr}
	if r.Err != nil {
		ended.Outcome, ended.Stderr = "error", cmp.Or(r.Stderr, r.Err.Error())
		parts = []string{r.Stdout, r.Err.Error()} // which quotes the error output
	}
	if r.Cancelled {
		ended.Outcome = "cancelled"
	}
	if r.ExitCode >= 0 {
		ended.ExitCode = &r.ExitCode
	}
	ended.Output = strings.Trim(strings.Join(parts, "\n"), "\n")
	return &wire.HookStarted{Stamp: t.stamp(""), HookID: id, HookName: name, HookEvent: event}, ended
}
