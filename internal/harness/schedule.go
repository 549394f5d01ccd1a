package harness

import (
	"fmt"
	"slices"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/tools/schedule"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// schedule returns the prompts that the conversation will be sent later, as they were
// stored. Those of a fork are sent to the session that it was made from.
func (c *Conversation) schedule(o *TalkOptions, restored *session.Restored) *schedule.Schedule {
	opts := &schedule.Options{Clock: o.Clock, Fire: c.wake, Changed: func(jobs []schedule.Job) { c.World.link.Save(stateSchedule, jobs) }}
	if !o.Fork {
		opts.Jobs = state[[]schedule.Job](restored, stateSchedule)
	}
	return schedule.New(opts)
}

// wake sends the conversation a prompt that is due, once it is idle. A prompt that is still
// queued is not sent twice.
func (c *Conversation) wake(j schedule.Job) {
	why := ""
	if j.Reason != "" {
		why = " Your reason was: " + j.Reason
	}
	text := fmt.Sprintf("<scheduled-prompt id=%q>\nYou scheduled this at %s (%s); the user did not type it.%s\n</scheduled-prompt>\n%s", j.ID, j.Created.Format("2006-01-02 15:04"), j.Human, why, j.Prompt)
	waits := func(p agent.Prompt) bool { return len(p.Content) == 1 && p.Content[0].Text == text }
	if slices.ContainsFunc(c.Agent.Queued(), waits) {
		return
	}
	c.Agent.Send(agent.Prompt{Origin: agent.TaskNotification, Priority: agent.Later, Content: []model.Block{model.TextOf(text)}})
}
