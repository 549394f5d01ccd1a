package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// settingsRequests are those that change settings.
func settingsRequests(q *requests) []row {
	return []row{
		about(q, func(_ context.Context, talk *harness.Conversation, r *wire.ApplyFlagSettings) (any, error) {
			return nil, applySettings(q, talk, r)
		}),
		about(q, func(ctx context.Context, talk *harness.Conversation, r *wire.UpdateSettings) (any, error) {
			return wire.Empty{}, updateSettings(ctx, q, talk, r)
		}),
	}
}

// flagSettings are the settings that a program can override in a running session. Others
// take effect in the next session.
type flagSettings struct {
	Model       *string          `json:"model"`
	EffortLevel *string          `json:"effortLevel"`
	Permissions *flagPermissions `json:"permissions"`
}

type flagPermissions struct {
	Allow, Ask, Deny []string
	DefaultMode      string   `json:"defaultMode"`
	Directories      []string `json:"additionalDirectories"`
}

// applySettings overrides the settings of the files, and replaces earlier overrides.
func applySettings(q *requests, talk *harness.Conversation, r *wire.ApplyFlagSettings) error {
	var set flagSettings
	if err := json.Unmarshal(r.Settings, &set); err != nil {
		problem := "they are not an object"
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
			problem = "the value of " + wrong.Field + " has the wrong type"
		}
		return fmt.Errorf("could not apply the settings: %s. The previous settings stay in force", problem)
	}
	if set.Permissions != nil {
		if err := applyPermissions(q, talk, set.Permissions); err != nil {
			return err
		}
	}
	if set.Model != nil {
		talk.Agent.SetModel(talk.Resolve(*set.Model))
	}
	if set.EffortLevel != nil {
		talk.Agent.SetEffort(*set.EffortLevel)
	}
	return nil
}

// applyPermissions applies all of it, or nothing.
func applyPermissions(q *requests, talk *harness.Conversation, p *flagPermissions) error {
	list, err := laidOver(p.Allow, p.Ask, p.Deny)
	if err != nil {
		return err
	}
	before := talk.World.Engine.Guard().Roots()
	if err := talk.AddDirectories(p.Directories); err != nil {
		return err
	}
	if p.DefaultMode != "" {
		if _, err := setMode(talk, p.DefaultMode); err != nil {
			added := slices.DeleteFunc(slices.Clone(talk.World.Engine.Guard().Roots()), func(dir string) bool { return slices.Contains(before, dir) })
			return errors.Join(err, talk.RemoveDirectories(added))
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.removeFlagRules != nil {
		q.removeFlagRules()
	}
	q.removeFlagRules = talk.World.Engine.AddTemporary(list...)
	return nil
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

// updateSettings writes settings to the user's own file. Only harmless ones can be written
// this way: a settings file also holds rules and hooks.
func updateSettings(ctx context.Context, q *requests, talk *harness.Conversation, r *wire.UpdateSettings) error {
	if r.Source != "localSettings" && r.Source != "userSettings" {
		return fmt.Errorf("update_settings: unsupported source %s", r.Source)
	}
	source := destinations[r.Source]
	if sources := q.opts.Harness.Sources; sources != nil && !slices.Contains(sources, source) {
		return fmt.Errorf("update_settings: this session does not read %s", r.Source)
	}
	var wrong []string
	values := make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		var text string
		if key != updatable[r.Source] || json.Unmarshal(r.Settings[key], &text) != nil {
			wrong = append(wrong, key)
		}
		values[key] = text
	}
	if len(wrong) > 0 {
		return fmt.Errorf("update_settings keys not allowed: %s", strings.Join(wrong, ", "))
	}
	target, err := talk.World.Project.Target(source)
	for key, text := range values {
		if err == nil {
			err = settings.SetText(ctx, target, key, text)
		}
	}
	return err
}

// updatable is what can be written into the file of a source.
var updatable = map[string]string{"localSettings": "outputStyle", "userSettings": "effortLevel"}
