package tui

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// rules are the [Rules] of a harness's conversation.
type rules struct{ c *harness.Conversation }

func (r rules) Mode() string { return string(r.c.World.Engine.Policy().Mode()) }

func (r rules) Sandbox() string {
	switch s := r.c.World.Sandbox(); {
	case !s.Known:
		return ""
	case s.Mode == settings.SandboxOff:
		return "sandbox off"
	case s.Tier.Kind == sandbox.TierNone:
		return noSandbox
	default:
		return "sandbox " + s.Tier.Kind.String()
	}
}

// noSandbox is said where this machine confines nothing although it is asked to.
const noSandbox = "NO SANDBOX"

func (r rules) CheckRule(behavior, rule string) error { return answers.CheckRule(behavior, rule) }

func (r rules) Keep() *harness.Kept { return r.c.Keep() }

func (r rules) Where(scope string) string { return r.c.RulesFile(scope) }

func (r rules) Resolved(path string) string {
	facts := r.c.World.Project.Guard.At(r.c.Dir()).Look(path)
	if facts.Real == path {
		return ""
	}
	return facts.Real
}

func (r rules) Held() []trust.Item {
	var items []trust.Item
	for _, h := range slices.Concat(r.c.World.Project.Held, r.c.World.Project.HeldClaims()) {
		if h.Never == "" {
			items = append(items, h.Item)
		}
	}
	return items
}

func (r rules) Trust(ctx context.Context, items []trust.Item) error {
	if r.c.World.Project.Folder == nil {
		return lang.Errorf("could not save trust: there is no config folder to save it in")
	}
	defer r.c.World.Project.Library.Hold(time.Time{}) // more of the files count now
	return r.c.World.Project.Folder.Grant(ctx, items...)
}

func (r rules) StatusLine() (command string, told StatusFacts) {
	v, ok := r.c.World.Project.Counts.Lookup("statusLine")
	if !ok {
		return "", told
	}
	var said struct{ Type, Command string }
	if json.Unmarshal(v.JSON, &said) != nil || said.Type != "command" {
		return "", told
	}
	return said.Command, StatusFacts{Journal: r.c.Journal().Path(), Style: r.c.Style, Effort: r.c.Agent.Effort(), AddDirs: r.c.World.Project.Guard.Roots()[1:]}
}

func (r rules) Rules() []RuleLine {
	var list []RuleLine
	for _, rule := range r.c.Rules() {
		list = append(list, RuleLine{rule.Behavior.String(), rule.Text, rule.Origin.String(), rule.Origin.Source.String()})
	}
	return list
}

func (r rules) Settings() []SettingLine {
	var list []SettingLine
	for _, s := range answers.Settings(r.c) {
		line := SettingLine{Knob: s.Knob, Value: s.Value}
		if s.Value != "" {
			line.Origin = s.Origin.String()
		}
		list = append(list, line)
	}
	return list
}
