package harness

import "github.com/haftdev/haft/internal/harness/sysprompt"

// told is what the models of this world are told beside the prompts.
func (w *World) told() *sysprompt.Source {
	return &sysprompt.Source{Project: w.Project, Readable: w.MayShow, Dir: func() string { return w.Shell.Dir("") }, Warn: w.link.WarnKnowledge}
}

// carry is what a compaction must not lose.
func (c *Conversation) carry() []string {
	return sysprompt.Carry(c.plan.Load(), c.pool.builtins.Todos, c.pool.builtins.Tasks)
}
