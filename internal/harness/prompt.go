package harness

import (
	"github.com/haftdev/haft/internal/harness/sysprompt"
)

// told is what the models of this world are told in addition to the prompts; earlier is
// what the conversation was reminded of before.
func (w *World) told(modelName string, earlier []string) *sysprompt.Source {
	return &sysprompt.Source{
		Project: w.Project, Model: modelName, Earlier: earlier, Ahead: w.ahead,
		Readable: w.MayShow, MaySkill: w.mayUse("Skill", "skill"), Dir: func() string { return w.Shell.Dir("") }, Warn: w.link.WarnKnowledge, Loaded: w.instructionsLoaded,
	}
}

// carry is what a compaction must not lose.
func (c *Conversation) carry() []string {
	return append(sysprompt.Carry(c.plan.Load(), c.pool.builtins.Todos, c.pool.builtins.Tasks), c.skills.carry("")...)
}
