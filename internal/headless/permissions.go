package headless

import (
	"context"
	"fmt"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/wire"
)

// updatePermissions applies what the program decided in addition to the call itself.
func (s *server) updatePermissions(ctx context.Context, u wire.PermissionUpdate) error {
	if what := TerminalOnly(u); s.opts.Guest && what != "" {
		return &wire.ControlError{Message: what + " is only possible in a terminal"}
	}
	talk := s.opened()
	switch u.Type {
	case "setMode":
		_, err := s.setMode(talk, u.Mode)
		return err
	case "addRules", "removeRules", "replaceRules":
		return changeRules(ctx, talk, u)
	case "addDirectories":
		return talk.AddDirectories(u.Directories)
	case "removeDirectories":
		return talk.RemoveDirectories(u.Directories)
	}
	return fmt.Errorf("unknown permission update %q", u.Type)
}

// changeRules changes rules for the session, and where the program wants them kept.
func changeRules(ctx context.Context, talk *harness.Conversation, u wire.PermissionUpdate) error {
	list, err := rules(u, settings.Origin{Source: settings.Session})
	if err != nil {
		return err
	}
	source, kept := destinations[u.Destination]
	engine := talk.World.Engine
	if u.Type == "removeRules" {
		engine.Revoke(list...)
		for _, r := range list {
			if err := talk.World.Project.Forget(ctx, source, r); kept && err != nil {
				return err
			}
		}
		return nil
	}
	if u.Type == "replaceRules" {
		b := behaviors[u.Behavior]
		engine.RevokeAll(func(r permission.Rule) bool { return r.Behavior == b && r.Origin.Source == settings.Session })
	}
	engine.Grant(list...)
	if !kept {
		return nil
	}
	for _, r := range list {
		if err := talk.World.Project.Keep(ctx, source, permission.Rule{Text: r.Text, Behavior: r.Behavior}); err != nil {
			return err
		}
	}
	return nil
}

// setMode changes the mode.
func (s *server) setMode(talk *harness.Conversation, mode string) (any, error) {
	refused := func(format string, args ...any) (any, error) {
		return nil, &wire.ControlError{Code: wire.ErrorInvalidMode, Message: fmt.Sprintf(format, args...)}
	}
	if _, err := permission.ParseMode(mode); err != nil || mode == "" {
		return refused("%q is not a permission mode", mode)
	}
	if err := talk.Agent.SetMode(mode); err != nil {
		return refused("%v", err)
	}
	return wire.SetPermissionModeReply{Mode: mode}, nil
}
