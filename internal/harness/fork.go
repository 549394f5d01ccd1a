package harness

import (
	"context"
	"errors"
	"fmt"

	commands "github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/tool/subagent"
)

// fork returns what lets an agent of its own do a command that a user typed, and answers
// with its report; nil where there are no agents, so that the conversation does it.
func (c *Conversation) fork(k commands.Command, text string) func(context.Context) (string, error) {
	if c.Agent.Tools().Lookup("Agent") == nil {
		return nil
	}
	f := subagent.Fork{Text: subagent.Text{Kind: "command", Name: k.Name, Digest: k.Digest}, Agent: k.Agent, Model: k.Model, Prompt: text}
	if k.Origin == commands.Skill {
		f.Kind = "skill"
	}
	return func(ctx context.Context) (string, error) {
		if p := f.Check(c.World.Crew); p != nil {
			return "", errors.New(p.Message)
		}
		// There is no call that the agent works for; programs know its messages by this.
		r := c.World.Crew.Run(ctx, f.Job("forked-command-"+k.Name, ""), nil)
		switch r.Status {
		case subagent.Completed:
			return r.Text, nil
		case subagent.Empty:
			return fmt.Sprintf("/%s is done. Its agent had nothing to say.", k.Name), nil
		case subagent.Moved:
			return fmt.Sprintf("The agent %s continues /%s in the background.", r.ID, k.Name), nil
		}
		return r.Text, fmt.Errorf("/%s was not finished (%s): %s", k.Name, r.Status, r.Why)
	}
}
