package harness

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/session"
)

// What the states of a session are called that name the skills and commands with hooks that
// were loaded; their names follow.
var stateTextHooks = map[knowledge.Kind]string{knowledge.Skill: "skillhooks:", knowledge.Command: "commandhooks:"}

// textHooks are the hooks of the skills and commands that a conversation has loaded. They run
// until it is cleared, as in Claude Code, also in the next process that resumes it.
type textHooks struct {
	world *World

	mu     sync.Mutex
	remove map[string]func() // by state
}

// loaded lets the hooks of a skill or command run, which was loaded as digest says. An error
// means that they cannot, and that the text must not be used.
func (s *textHooks) loaded(kind knowledge.Kind, name, digest string) error {
	p, err := s.world.piece(kind, name)
	if missing := (*knowledge.Missing)(nil); kind == knowledge.Command && errors.As(err, &missing) && !missing.Held {
		return nil // a prompt of a server, or haft's own
	}
	if err != nil {
		return err
	}
	t, err := s.world.textOf(p)
	if err != nil {
		return err
	}
	if digest != "" && t.Digest != digest {
		return fmt.Errorf("%s changed while it was being loaded; load it again", t.Name)
	}
	state := stateTextHooks[kind] + name
	s.mu.Lock()
	defer s.mu.Unlock()
	if remove := s.remove[state]; remove != nil {
		remove()
		delete(s.remove, state)
	}
	hooks := s.world.Project.Hooks.ForText(t)
	if len(hooks) == 0 {
		return nil
	}
	if s.remove == nil {
		s.remove = make(map[string]func())
	}
	s.remove[state] = s.world.Hooks.Add(hooks)
	s.world.link.Save(state, true)
	return nil
}

// recall lets those run that ran when the session was left.
func (s *textHooks) recall(r *session.Restored) {
	for kind, prefix := range stateTextHooks {
		for key := range r.States {
			name, ok := strings.CutPrefix(key, prefix)
			if !ok {
				continue
			}
			if err := s.loaded(kind, name, ""); err != nil {
				s.world.link.Warn("hook_failed", fmt.Sprintf("The hooks of the %s %s no longer run: %v", kind, name, err))
			}
		}
	}
}

// clear ends them all.
func (s *textHooks) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for remove := range maps.Values(s.remove) {
		remove()
	}
	s.remove = nil
}
