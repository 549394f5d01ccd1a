package hook

import "github.com/haftdev/haft/tool"

// Concerning returns the PreToolUse hooks that would see a call, as runs that have not
// started. Their answers are not known without running them.
func (r *Runner) Concerning(t *tool.Tool, c *tool.Call) []Run {
	var runs []Run
	about := targetOf(t, c)
	for _, effects := range []bool{false, true} {
		about.effects = effects
		for _, task := range r.choose(c.Agent, "PreToolUse", about) {
			runs = append(runs, task.run)
		}
	}
	return runs
}
