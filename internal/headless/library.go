package headless

import (
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// reloadSkills looks for skills again. Those that there are now can be called, also
// if the model was not told of them when the session began.
func (s *server) reloadSkills(talk *harness.Conversation) wire.ReloadSkillsReply {
	var reply wire.ReloadSkillsReply
	for _, sk := range talk.World.Project.Library.Skills.List().Skills {
		reply.Skills = append(reply.Skills, wire.Command{Name: sk.Name, Description: sk.Description, ArgumentHint: sk.Hint})
	}
	return reply
}

// reloadPlugins tells what there is; plugins that are added later count from the
// next session on.
func (s *server) reloadPlugins(talk *harness.Conversation, r *wire.ReloadPlugins) (any, error) {
	if r.RefuseIfBusy && talk.Busy() {
		return nil, &wire.ControlError{Code: wire.ErrorPluginsBusy, Message: "a turn runs: ask again when it has ended"}
	}
	if len(r.AddPlugins) > 0 && string(r.AddPlugins) != "null" && string(r.AddPlugins) != "[]" {
		return nil, &wire.ControlError{Message: "plugins cannot be added to a session that runs: begin it with them"}
	}
	reply := s.plugins(talk)
	if r.HoldOnCacheImpact {
		held := false // nothing changes
		reply.Held = &held
	}
	return reply, nil
}
