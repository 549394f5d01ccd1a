package tui

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/trust"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
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

func (r rules) Grant(ctx context.Context, text, scope string) error {
	rule := permission.Rule{Text: text, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Session}}
	if err := rule.Check(); err != nil {
		return err
	}
	if scope != "session" {
		source, err := settings.ParseSource(scope)
		if err != nil {
			return err
		}
		if err := r.c.World.Project.Keep(ctx, source, rule); err != nil {
			return err
		}
	}
	r.c.World.Engine.Grant(rule)
	return nil
}

func (r rules) Keep() *harness.Kept { return r.c.Keep() }

func (r rules) Where(scope string) string {
	source, err := settings.ParseSource(scope)
	if err != nil {
		return scope
	}
	target, err := r.c.World.Project.Target(source)
	if err != nil {
		return err.Error()
	}
	if rest, ok := strings.CutPrefix(target.Path, r.c.World.Project.Home+"/"); ok && r.c.World.Project.Home != "" {
		return "~/" + rest
	}
	return target.Path
}

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
		return errors.New("there is no config folder to keep it in")
	}
	return r.c.World.Project.Folder.Grant(ctx, items...)
}
