package harness

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/haftdev/haft/session"
)

// stateSkillHooks is followed by the name of a skill that was loaded and has hooks.
const stateSkillHooks = "skillhooks:"

// skillHooks are the hooks of the skills that a conversation has loaded. They run until it
// is cleared, as in Claude Code, also in the next process that resumes it.
type skillHooks struct {
	world *World

	mu     sync.Mutex
	remove map[string]func() // by skill
}

// loaded enables the hooks of a skill, which was loaded as digest says. An error means that
// they cannot run, and that the skill must not be used.
func (s *skillHooks) loaded(name, digest string) error {
	read := s.world.Project.Library.Skills.Read
	sk, err := read(name)
	if err != nil {
		return err
	}
	if digest != "" && sk.Digest != digest {
		return fmt.Errorf("the skill %s changed while it was being loaded; load it again", name)
	}
	hooks, err := s.world.Project.Hooks.OfSkill(sk, read)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if remove := s.remove[name]; remove != nil {
		remove()
		delete(s.remove, name)
	}
	if len(hooks) == 0 {
		return nil
	}
	if s.remove == nil {
		s.remove = make(map[string]func())
	}
	s.remove[name] = s.world.Hooks.Add(hooks)
	s.world.link.Save(stateSkillHooks+name, true)
	return nil
}

// recall enables the hooks that were enabled when the session was last used.
func (s *skillHooks) recall(r *session.Restored) {
	for key := range r.States {
		name, ok := strings.CutPrefix(key, stateSkillHooks)
		if !ok {
			continue
		}
		if err := s.loaded(name, ""); err != nil {
			s.world.link.Warn("hook_failed", fmt.Sprintf("The hooks of the skill %s do not run any more: %v", name, err))
		}
	}
}

// clear ends them all.
func (s *skillHooks) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for remove := range maps.Values(s.remove) {
		remove()
	}
	s.remove = nil
}
