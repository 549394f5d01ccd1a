package agent

import (
	"errors"
	"fmt"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// answerPrompt is the rest of a turn whose prompt brings its answer. No model is asked, and
// the one that continues the conversation reads the answer as its own.
func (t *turn) answerPrompt() Reason {
	if end := t.withinBudget(); end != "" {
		return end
	}
	text, failed := t.prompt.Answer(t.asking)
	if text != "" {
		if err := t.sayAnswer(text); err != nil {
			return t.fail(JournalFailure, err)
		}
	}
	if end := t.stopped(true); end != "" {
		return end
	}
	if t.res.Text = text; failed != nil {
		t.res.Text = failed.Error()
		return t.fail(CommandFailed, failed)
	}
	if end := t.withinBudget(); end != "" {
		return end
	}
	return Completed
}

// sayAnswer makes a text an answer of the conversation.
func (t *turn) sayAnswer(text string) error {
	said := Said{UUID: session.NewUUID(), MessageID: session.NewUUID(), Model: "<synthetic>", Block: model.TextOf(text), Agent: t.a.opts.Agent}
	blocks := []model.Block{said.Block}
	if err := t.journal.Append(t.lasting, session.Entry{UUID: said.UUID, Agent: said.Agent, Message: &session.Message{
		Role: model.Assistant, Content: blocks, ID: said.MessageID, Model: said.Model, StopReason: model.EndTurn,
	}}); err != nil {
		return fmt.Errorf("write the answer down: %w", err)
	}
	t.a.out.put(said)
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	_, unsent := t.a.talk.ready()
	_, err := t.a.talk.answer(blocks)
	t.a.ledger.add(blocks...)
	return errors.Join(unsent, err)
}
