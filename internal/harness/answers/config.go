package answers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
)

// A Setting is a single value of the settings, as it counts in a conversation.
type Setting struct {
	settings.Knob
	// Value is "" if no file sets it; Origin is where it is set.
	Value  string
	Origin settings.Origin
}

// Settings are the single values that can be set, by their keys.
func Settings(c *harness.Conversation) []Setting {
	var list []Setting
	for _, k := range settings.Knobs() {
		s := Setting{Knob: k}
		if v, ok := c.World.Project.Counts.Lookup(strings.Split(k.Key, ".")...); ok {
			s.Value, s.Origin = strings.Trim(string(v.JSON), `"`), v.Origin
		}
		list = append(list, s)
	}
	return list
}

// set writes a value into the file of a scope, "" takes it out, and says from when on
// it counts.
func set(ctx context.Context, c *harness.Conversation, k settings.Knob, value, scope string) (string, error) {
	source, err := settings.ParseSource(scope)
	if err != nil {
		return "", err
	}
	if k.Key == "permissions.defaultMode" && value != "" {
		if _, err := permission.ParseMode(value); err != nil {
			return "", err
		}
	}
	target, err := c.World.Project.Target(source)
	if err != nil {
		return "", err
	}
	if err := k.Set(ctx, target, value); err != nil {
		return "", err
	}
	if source == settings.Local {
		_ = project.Untracked(target.Path) // the value counts whether git ignores the file or not
	}
	when := "It takes effect in the next session."
	switch {
	case value == "":
	case k.Key == "model":
		c.Agent.SetModel(c.Resolve(value))
		when = "It takes effect with the next request."
	case k.Key == "effortLevel":
		c.Agent.SetEffort(value)
		when = "It takes effect with the next request."
	}
	if value == "" {
		return fmt.Sprintf("%s is no longer set in %s. %s", k.Key, c.RulesFile(scope), when), nil
	}
	return fmt.Sprintf("%s is %s in %s. %s", k.Key, visible.Indented(value), c.RulesFile(scope), when), nil
}

// configure sets or shows a value: KEY, KEY VALUE [local|project|user], unset KEY [scope].
func configure(ctx context.Context, c *harness.Conversation, args string) (string, error) {
	key, value, _ := strings.Cut(args, " ")
	unset := key == "unset"
	value, scope := cutScope(strings.TrimSpace(value), "local", "project", "user")
	if unset {
		key, value = value, ""
	}
	var known []string
	for _, s := range Settings(c) {
		known = append(known, s.Key)
		switch {
		case s.Key != key:
		case value == "" && !unset:
			return settingText(s), nil
		default:
			return set(ctx, c, s.Knob, value, cmp.Or(scope, "user"))
		}
	}
	if key == "" {
		return "", errors.New("type /config, /config KEY VALUE [local|project|user] or /config unset KEY [local|project|user]")
	}
	return "", fmt.Errorf("there is no setting %q with a single value.%s", key, cmp.Or(near.Hint(key, known), " /config lists them; lists are edited in the file."))
}

func settingText(s Setting) string {
	if s.Value == "" {
		return fmt.Sprintf("%s is not set. It takes %s.", s.Key, s.Takes)
	}
	return fmt.Sprintf("%s is %s (%s). It takes %s.", s.Key, visible.Indented(s.Value), s.Origin, s.Takes)
}
