package headless

import (
	"fmt"
	"slices"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// grants are the changes of the permissions that come with an answer, without those that may
// refuses. They take effect if the answer counts.
func grants(updates []wire.PermissionUpdate, may func(wire.PermissionUpdate) error, warn func(string)) (list []tool.Grant) {
	for _, u := range updates {
		g, err := grantOf(u)
		if err == nil {
			err = may(u)
		}
		if err != nil {
			warn("Could not change the permissions: " + err.Error()) // the call itself is allowed
			continue
		}
		list = append(list, g)
	}
	return list
}

func grantOf(u wire.PermissionUpdate) (tool.Grant, error) {
	g := tool.Grant{Change: tool.GrantChange(u.Type), Scope: "session", Mode: u.Mode, Folders: u.Directories}
	if source, kept := destinations[u.Destination]; kept {
		g.Scope = source.String()
	}
	var ok bool
	if g.Behavior, ok = behaviors[u.Behavior]; !ok && len(u.Rules) > 0 {
		return g, fmt.Errorf("%q is not a behavior: use allow, ask or deny", u.Behavior)
	}
	for _, r := range u.Rules {
		g.Rules = append(g.Rules, joinRule(r))
	}
	return g, nil
}

// destinations are the scopes of rules as the wire spells them.
var destinations = map[string]settings.Source{
	"userSettings": settings.User, "projectSettings": settings.Project, "localSettings": settings.Local,
}

var behaviors = map[string]tool.Behavior{"allow": tool.Allow, "deny": tool.Deny, "ask": tool.Ask}

// NotSuggested says which part of a change of the permissions is not what the question
// suggests, "" if it is: who watches a session decides what is asked, and nothing more. A
// plan may be approved in either mode.
func NotSuggested(asked *wire.CanUseTool, u wire.PermissionUpdate) string {
	plan := asked.ToolName == "ExitPlanMode"
	switch {
	case u.Type == "setMode":
		if plan && (u.Mode == string(permission.Default) || u.Mode == string(permission.AcceptEdits)) ||
			slices.ContainsFunc(asked.PermissionSuggestions, func(s wire.PermissionUpdate) bool { return s.Type == u.Type && s.Mode == u.Mode }) {
			return ""
		}
		return "the permission mode " + u.Mode
	case u.Type != "addRules":
		return "the permission change " + u.Type
	}
	for _, rule := range u.Rules {
		if !slices.ContainsFunc(asked.PermissionSuggestions, func(s wire.PermissionUpdate) bool {
			return s.Type == u.Type && s.Behavior == u.Behavior && slices.Contains(s.Rules, rule)
		}) {
			return "the rule " + joinRule(rule)
		}
	}
	return ""
}

// setMode changes the mode.
func setMode(talk *harness.Conversation, mode string) (any, error) {
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
