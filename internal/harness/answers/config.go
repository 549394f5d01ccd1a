package answers

import (
	"cmp"
	"context"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/text/visible"
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
func (a answerer) set(ctx context.Context, k settings.Knob, value, scope string) (string, error) {
	source, err := settings.ParseSource(scope)
	if err != nil {
		return "", err
	}
	if k.Key == "permissions.defaultMode" && value != "" {
		if _, err := permission.ParseMode(value); err != nil {
			return "", err
		}
	}
	target, err := a.c.World.Project.Target(source)
	if err != nil {
		return "", err
	}
	if err := k.Set(ctx, target, value); err != nil {
		return "", err
	}
	if source == settings.Local {
		_ = project.Untracked(target.Path) // the value counts whether git ignores the file or not
	}
	when := a.t("It takes effect in the next session.")
	switch {
	case value == "":
	case k.Key == "model":
		a.c.Agent.SetModel(a.c.Resolve(value))
		when = a.t("It takes effect with the next request.")
	case k.Key == "effortLevel":
		a.c.Agent.SetEffort(value)
		when = a.t("It takes effect with the next request.")
	}
	if value == "" {
		return a.t("%s is no longer set in %s. %s", k.Key, a.c.RulesFile(scope), when), nil
	}
	return a.t("%s is set to %s in %s. %s", k.Key, visible.Indented(value), a.c.RulesFile(scope), when), nil
}

// configure sets or shows a value: KEY, KEY VALUE [local|project|user], unset KEY [scope].
func (a answerer) configure(ctx context.Context, args string) (string, error) {
	key, value, _ := strings.Cut(args, " ")
	unset := key == "unset"
	value, scope := cutScope(strings.TrimSpace(value), "local", "project", "user")
	if unset {
		key, value = value, ""
	}
	var known []string
	for _, s := range Settings(a.c) {
		known = append(known, s.Key)
		switch {
		case s.Key != key:
		case value == "" && !unset:
			return a.settingText(s), nil
		default:
			return a.set(ctx, s.Knob, value, cmp.Or(scope, "user"))
		}
	}
	if key == "" {
		return "", a.errorf("type /config, /config KEY VALUE [local|project|user] or /config unset KEY [local|project|user]")
	}
	return "", a.errorf("there is no setting %q that /config can change. %s", key, Near(a.words, key, known, "/config lists them; lists are edited in the file."))
}

func (a answerer) settingText(s Setting) string {
	if s.Value == "" {
		if s.OneOf != nil {
			return a.t("%s is not set. Values: %s", s.Key, strings.Join(s.OneOf, ", "))
		}
		return a.t("%s is not set. It takes %s.", s.Key, Takes(a.words, s.Knob))
	}
	return a.t("%s is %s (%s). It takes %s.", s.Key, visible.Indented(s.Value), s.Origin, Takes(a.words, s.Knob))
}
