package acp

import (
	"context"
	"fmt"
	"slices"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/model"
	sessions "github.com/haftdev/haft/session"
)

// prompt takes a prompt. It is answered when the turn that takes it up has ended.
func (s *server) prompt(r *request) {
	ses, err := s.find(r)
	if err != nil {
		r.reply(nil, err)
		return
	}
	var params struct {
		Prompt []block `json:"prompt"`
	}
	if err := r.read(&params); err != nil {
		r.reply(nil, err)
		return
	}
	blocks, err := contentOf(params.Prompt)
	if err != nil {
		r.reply(nil, err)
		return
	}
	p := &prompt{Prompt: agent.Prompt{UUID: sessions.NewUUID(), Content: blocks}, request: r}
	if blocks[0].Type == model.Text && blocks[0].Raw == nil {
		p.text = blocks[0].Text
	}
	if err := ses.take(p); err != nil {
		r.reply(nil, err)
	}
}

// take queues a prompt. One that comes while a turn runs joins it; a command waits for
// its end, because it may change what the next one begins with.
func (s *session) take(p *prompt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return errorf(codeInvalidRequest, "The session is being closed.")
	}
	s.prompts[p.UUID] = p
	context.AfterFunc(p.request.ctx, func() { s.takeBack(p) })
	if input := s.talk.Input(); len(s.typed) > 0 || input.IsCommand(p.text) || input.Mentions(p.text) {
		s.typed = append(s.typed, p)
	} else {
		s.talk.Send(p.Prompt)
	}
	s.talk.Agent.Reconsider()
	s.wake()
	return nil
}

// contentOf reads what the user says.
func contentOf(prompt []block) ([]model.Block, error) {
	var list []model.Block
	for i, b := range prompt {
		blocks, err := b.read()
		if err != nil {
			return nil, errorf(codeInvalidParams, "Block %d of the prompt cannot be used: %v", i+1, err)
		}
		list = append(list, blocks...)
	}
	if len(list) == 0 {
		return nil, errorf(codeInvalidParams, "The prompt is empty.")
	}
	return list, nil
}

// carryOut carries out a command, or sends what it stands for to the model.
func (s *session) carryOut(p *prompt) {
	ctx, done := s.reading(p)
	defer done()
	typed, ok, err := s.talk.Input().Read(ctx, p.text)
	switch {
	case !ok:
		s.send(s.withFiles(ctx, p))
	case err != nil:
		s.local(p, fmt.Sprintf("could not run /%s: %v", typed.Command.Name, err))
	case typed.Text != "":
		p.Content = slices.Concat([]model.Block{model.TextOf(typed.Text)}, p.Content[1:])
		p.Change, p.Answer = typed.Change, typed.Answer
		s.send(p)
	case typed.Command.Name == "compact":
		s.mu.Lock()
		s.compact = append(s.compact, p)
		s.mu.Unlock()
		s.talk.Agent.Compact(typed.Arguments)
	case typed.Command.Name == "clear":
		s.local(p, "/clear does not work in an editor: start a new session in the editor instead.")
	default:
		answer, ok, err := answers.Run(s.talk, nil, typed.Command.Name, typed.Arguments)
		switch {
		case err != nil:
			answer = fmt.Sprintf("/%s failed: %v", typed.Command.Name, err)
		case !ok:
			answer = fmt.Sprintf("/%s needs a terminal; run haft there.", typed.Command.Name)
		}
		s.local(p, answer)
	}
}

// reading returns a context that ends when the user wants the command stopped.
func (s *session) reading(p *prompt) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.command = cancel
	if p.cancelled {
		cancel()
	}
	s.mu.Unlock()
	return ctx, func() {
		s.mu.Lock()
		s.command = nil
		s.mu.Unlock()
		cancel()
	}
}

// send gives a prompt to the model, if it is still wanted.
func (s *session) send(p *prompt) {
	s.mu.Lock()
	cancelled := p.cancelled
	if !cancelled {
		s.talk.Send(p.Prompt)
	}
	s.mu.Unlock()
	if cancelled {
		s.answer(p.UUID, stopCancelled, nil)
	}
}

// withFiles adds the files that a prompt mentions. Those that must not be read, or
// cannot, are left out with a word about it.
func (s *session) withFiles(ctx context.Context, p *prompt) *prompt {
	files, err := s.talk.Input().Mentioned(ctx, p.text)
	if err != nil {
		s.tell.notice("warning", "Could not add a file that the prompt mentions: "+err.Error())
	}
	if files != "" && err == nil {
		p.Content = append(slices.Clip(p.Content), model.TextOf(files))
	}
	return p
}

// local answers a command that no model was asked about.
func (s *session) local(p *prompt, answer string) {
	s.tell.say(answer)
	s.answer(p.UUID, stopEndTurn, nil)
}
