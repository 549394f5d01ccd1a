package headless

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// flagSettings are those of a running session that a program can lay over the
// files'. Others take effect when the next session starts with them.
type flagSettings struct {
	Model       *string `json:"model"`
	EffortLevel *string `json:"effortLevel"`
	Permissions *struct {
		Allow, Ask, Deny []string
		DefaultMode      string   `json:"defaultMode"`
		Directories      []string `json:"additionalDirectories"`
	} `json:"permissions"`
}

// applySettings lays settings over those of the files, in place of those that were
// laid over them before.
func (s *server) applySettings(talk *harness.Conversation, r *wire.ApplyFlagSettings) error {
	var set flagSettings
	if err := json.Unmarshal(r.Settings, &set); err != nil {
		key := "they are not an object"
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
			key = wrong.Field
		}
		return fmt.Errorf("apply settings: nothing was applied, and what was set before stays in force. Mend these: %s", key)
	}
	if set.Model != nil {
		talk.SetModel(talk.Resolve(*set.Model))
	}
	if set.EffortLevel != nil {
		talk.SetEffort(*set.EffortLevel)
	}
	p := set.Permissions
	if p == nil {
		return nil
	}
	list, err := laidOver(p.Allow, p.Ask, p.Deny)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.removeFlagRules != nil {
		s.removeFlagRules()
	}
	s.removeFlagRules = talk.World.Engine.AddTemporary(list...)
	s.mu.Unlock()
	err = talk.AddDirectories(p.Directories)
	if p.DefaultMode != "" {
		_, failed := s.setMode(talk, p.DefaultMode)
		err = errors.Join(err, failed)
	}
	return err
}

func laidOver(allow, ask, deny []string) (list []permission.Rule, err error) {
	for _, l := range []struct {
		texts []string
		b     tool.Behavior
	}{{allow, tool.Allow}, {ask, tool.Ask}, {deny, tool.Deny}} {
		for _, text := range l.texts {
			r := permission.Rule{Text: text, Behavior: l.b, Origin: settings.Origin{Source: settings.Flag}}
			if err := r.Check(); err != nil {
				return nil, fmt.Errorf("the rule %s: %w", text, err)
			}
			list = append(list, r)
		}
	}
	return list, nil
}
