package acp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	sessions "github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// replayed is how many messages of an earlier conversation are told at least.
const replayed = 2000

// replay tells what was said before.
func (s *session) replay(ctx context.Context) {
	past := s.talk.Past(ctx, replayed)
	if len(past) >= replayed {
		s.tell.notice("info", fmt.Sprintf("Only the last %d messages of this session are shown. 'haft sessions show' has all of them.", len(past)))
	}
	s.tell.replaying = true
	for _, e := range past {
		for _, b := range e.Message.Content {
			s.tell.replay(e, b)
		}
	}
	for id := range s.tell.calls { // what never returned does not run
		s.tell.send(callUpdate{Update: updateCallChange, ID: id, Status: statusFailed})
	}
	clear(s.tell.calls)
	s.tell.replaying = false
	s.tell.planned(s.talk.WorkList())
}

// replay tells one block of a message.
func (t *teller) replay(e sessions.Entry, b model.Block) {
	said := func(kind, text string) {
		t.send(chunk{Kind: kind, Content: textOf(text), MessageID: e.UUID})
	}
	switch {
	case b.Type == model.ToolUse:
		t.begin("", b)
	case b.Type == model.ToolResult:
		t.returned(outcome(e.Message, b))
	case e.Message.Role == model.User:
		if text := harness.Typed([]model.Block{b}); text != "" {
			said(updateUser, text)
		}
		if image := imageOf(b); image != nil {
			t.send(chunk{Kind: updateUser, Content: image, MessageID: e.UUID})
		}
	case b.Type == model.Text && b.Text != "":
		said(updateAgent, b.Text)
	case b.Type == model.Thinking && b.Text != "":
		said(updateThought, b.Text)
	}
}

// outcome is how a call went, as the journal has it.
func outcome(m *sessions.Message, b model.Block) *sched.Outcome {
	out := &sched.Outcome{UseID: b.UseID, Result: tool.Result{Content: b.Content}}
	if b.IsError {
		out.Status = sched.Failed
	}
	if len(m.Output) > 0 {
		out.Result.Output = m.Output
	}
	return out
}

// imageOf is an image that the user sent; nil if the block is none.
func imageOf(b model.Block) any {
	var image struct {
		Source struct {
			Type, Data string
			MediaType  string `json:"media_type"`
		}
	}
	if b.Type != "image" || json.Unmarshal(b.Raw, &image) != nil || image.Source.Type != "base64" {
		return nil
	}
	return map[string]string{"type": "image", "mimeType": image.Source.MediaType, "data": image.Source.Data}
}
