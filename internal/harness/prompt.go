package harness

import (
	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/sysprompt"
	"github.com/haftdev/haft/model"
)

// told is what the models of this world are told in addition to the prompts; earlier is
// what was said before.
func (w *World) told(modelName string, earlier *model.History) *sysprompt.Source {
	return &sysprompt.Source{
		Project: w.Project, Model: modelName, Earlier: agent.Reminders(earlier),
		Readable: w.MayShow, MaySkill: w.mayUse("Skill", "skill"), Dir: func() string { return w.Shell.Dir("") }, Warn: w.link.WarnKnowledge,
	}
}

// carry is what a compaction must not lose.
func (c *Conversation) carry() []string {
	return append(sysprompt.Carry(c.plan.Load(), c.pool.builtins.Todos, c.pool.builtins.Tasks), c.skills.carry("")...)
}
