package headless

import (
	"context"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// reloadRequests look again for what was written for the model.
func reloadRequests(q *requests) []row {
	return []row{
		about(q, reloadSkills),
		with(q, reloadPlugins),
		about(q, func(_ context.Context, talk *harness.Conversation, _ *wire.ReloadOutputStyles) (any, error) {
			return wire.ReloadOutputStylesReply{AvailableOutputStyles: styles(talk)}, nil
		}),
	}
}

// styles are the names of the output styles there are.
func styles(talk *harness.Conversation) (names wire.List[string]) {
	for _, st := range talk.World.Project.Library.Styles.List().Styles {
		names = append(names, st.Name)
	}
	return names
}

// reloadSkills looks for skills again. Those found now can be called even if the model was
// not told about them when the session began.
func reloadSkills(_ context.Context, talk *harness.Conversation, _ *wire.ReloadSkills) (any, error) {
	var reply wire.ReloadSkillsReply
	for _, sk := range talk.World.Project.Library.Skills.List().Skills {
		reply.Skills = append(reply.Skills, wire.Command{Name: sk.Name, Description: sk.Description, ArgumentHint: sk.Hint})
	}
	return reply, nil
}

// reloadPlugins returns the plugins; those that are added later take effect in the next
// session.
func reloadPlugins(_ context.Context, q *requests, talk *harness.Conversation, r *wire.ReloadPlugins) (any, error) {
	if r.RefuseIfBusy && talk.Agent.Busy() {
		return nil, &wire.ControlError{Code: wire.ErrorPluginsBusy, Message: "a turn is running: try again when it has ended"}
	}
	if len(r.AddPlugins) > 0 && string(r.AddPlugins) != "null" && string(r.AddPlugins) != "[]" {
		return nil, &wire.ControlError{Message: "plugins cannot be added to a running session: start the session with them"}
	}
	reply := reloadedPlugins(q, talk)
	if r.HoldOnCacheImpact {
		held := false // nothing changes
		reply.Held = &held
	}
	return reply, nil
}

// reloadedPlugins are the plugins; those that are added later take effect in the next session.
func reloadedPlugins(q *requests, talk *harness.Conversation) wire.ReloadPluginsReply {
	return wire.ReloadPluginsReply{Commands: commands(talk), Agents: agents(talk), Plugins: plugins(talk), MCPServers: mcpStatus(talk, q.opts.Guest).MCPServers}
}
