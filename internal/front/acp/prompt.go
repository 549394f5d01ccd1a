package acp

import (
	"context"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
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
	m := drive.Message{Prompt: agent.Prompt{UUID: sessions.NewUUID(), Content: blocks}}
	if blocks[0].Type == model.Text && blocks[0].Raw == nil {
		m.Text = blocks[0].Text
	}
	if err := ses.take(m, r); err != nil {
		r.reply(nil, err)
	}
}

// take says what the user says.
func (s *session) take(m drive.Message, r *request) error {
	p := &prompt{uuid: m.UUID, request: r}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return errorf(codeInvalidRequest, "The session is being closed.")
	}
	s.prompts[p.uuid] = p
	s.drive.Say(m)
	context.AfterFunc(r.ctx, func() { s.takeBack(p) })
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
