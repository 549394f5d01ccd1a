package headless

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/harness/slash"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// command runs a command that the program sent, or sends what it stands for to the model.
func (s *server) command(ctx context.Context, talk *harness.Conversation, h heard) {
	p := h.Prompt
	if h.literal {
		talk.Send(p)
		return
	}
	at := commandIn(talk.Input(), p)
	var typed slash.Command
	var err error
	if at >= 0 && !s.opts.NoCommands {
		typed, _, err = talk.Input().Read(ctx, p.Content[at].Text)
	}
	switch {
	case typed.Command.Name == "" && err == nil:
		p, err := talk.WithFiles(ctx, p, text(p))
		if err != nil {
			s.warn(err.Error())
		}
		talk.Send(p)
	case err != nil:
		s.local(p, typed.Command.Name, "", fmt.Errorf("could not run /%s: %w", typed.Command.Name, err))
	case typed.Text != "":
		p.Content = slices.Clone(p.Content)
		p.Content[at] = model.TextOf(typed.Text)
		p.Change, p.Answer = typed.Change, typed.Answer
		talk.Send(p)
	case typed.Command.Name == "compact":
		talk.Agent.CompactAs(p.UUID, typed.Arguments)
	case typed.Command.Name == "clear" && s.opts.OneSession:
		s.local(p, typed.Command.Name, "", errOneSession)
	case typed.Command.Name == "clear":
		talk.Agent.ClearAs(p.UUID)
	case s.opts.Guest && !guestMayType(typed.Command.Name, typed.Arguments):
		s.local(p, typed.Command.Name, "", terminalOnly(strings.TrimSpace("/"+typed.Command.Name+" "+typed.Arguments)))
	default:
		answer, ok, err := answers.Run(talk, s.opts.Lang, typed.Command.Name, typed.Arguments)
		if !ok {
			err = fmt.Errorf("/%s needs a screen; it has no effect here", typed.Command.Name)
		}
		s.local(p, typed.Command.Name, answer, err)
	}
}

// errOneSession is why a session is not cleared.
var errOneSession = errors.New("/clear is not available here: a fleet's run is a single session. Start a new session instead")

// commandIn returns which block of a prompt is a command, -1 for none. Programs send what
// belongs to it, such as images and context, in the blocks before it, so the last command
// counts. Commands that are not prompts count only by themselves.
func commandIn(in *slash.Input, p agent.Prompt) int {
	is := in.IsPrompt
	if len(p.Content) == 1 {
		is = in.IsCommand
	}
	for i, b := range slices.Backward(p.Content) {
		if b.Type == model.Text && is(b.Text) {
			return i
		}
	}
	return -1
}

// local sends the program the answer to a command that did not need a model, or the reason
// why there is none.
func (s *server) local(p agent.Prompt, name, answer string, failed error) {
	res := agent.Result{Reason: agent.Completed, Text: answer, Command: name, Prompts: []agent.Prompt{p}, Total: s.opened().Agent.Usage()}
	if failed != nil {
		answer = failed.Error()
		res.Reason, res.Text, res.Errors = agent.CommandFailed, answer, []string{answer}
	}
	s.tell.turnStarted(agent.TurnStarted{Prompts: []agent.Prompt{p}, Model: s.opened().Agent.ContextUsage().Model, Mode: string(s.opened().World.Engine.Policy().Mode()), Tools: s.opened().Agent.Tools()})
	s.tell.said(agent.Said{MessageID: session.NewUUID(), Model: "<synthetic>", Block: model.TextOf(answer)})
	s.tell.result(res)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code = 0
	if failed != nil {
		s.code = 1
	}
}
