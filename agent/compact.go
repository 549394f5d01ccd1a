package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// makeRoom compacts the conversation if it is about to outgrow the context.
func (t *turn) makeRoom() Reason {
	a := t.a
	tokens := t.tokens()
	a.mu.Lock()
	at := a.compactAt(a.window(a.set.model))
	due := at > 0 && tokens >= at && tokens >= a.ledger.patience && a.talk.history.Len() > 1
	a.mu.Unlock()
	if !due {
		return ""
	}
	if err := t.compact("auto", ""); err != nil {
		// The conversation continues as it is; it may still fit. Another attempt is
		// worthwhile only when it has grown considerably.
		a.mu.Lock()
		a.ledger.patience = tokens + tokens/20
		a.mu.Unlock()
	}
	return t.stopped(false)
}

// compact replaces the conversation by a summary. What was said since the last answer stays
// as it is, with the calls whose results it contains.
func (t *turn) compact(trigger, instructions string) error {
	a := t.a
	began := time.Now()
	done := Compacted{UUID: session.NewUUID(), Trigger: trigger, PreTokens: t.tokens()}
	a.out.put(Compacting{Trigger: trigger})
	messages, err := t.condense(trigger, instructions)
	if err == nil {
		err = t.replace(&done, messages)
	}
	done.Tokens, done.Duration, done.Err = t.tokens(), time.Since(began), err
	a.out.put(done)
	if err != nil {
		return err
	}
	t.repeats.Forget()
	a.mu.Lock()
	a.ledger.patience = done.Tokens + a.window(a.set.model)/20 // not again for what it had to keep
	a.mu.Unlock()
	a.out.put(Added{UUID: done.UUID, Kind: Summarized, Message: messages[0], Agent: a.opts.Agent})
	a.fire(t.asking, hook.PostCompact{Trigger: trigger, Summary: text(messages[0].Content)})
	return nil
}

// condense returns the messages that the conversation continues with.
func (t *turn) condense(trigger, instructions string) ([]model.Message, error) {
	hooked := t.a.fire(t.asking, hook.PreCompact{Trigger: trigger, CustomInstructions: instructions})
	if hooked.Blocked() {
		return nil, fmt.Errorf("a hook blocked it: %s", hooked.Reason)
	}
	instructions = strings.Join(append([]string{instructions}, hooked.Notes...), "\n")
	tail, err := t.a.tail()
	if err != nil {
		return nil, err
	}
	summary, err := t.summarize(instructions, len(tail))
	if err != nil {
		return nil, err
	}
	return t.renewed(summary, tail), nil
}

// tail returns the messages that must not be summarised: what was said since the last
// answer, and that answer if the results of its calls are part of it.
func (a *Agent) tail() ([]model.Message, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.talk
	c.close("the turn was ended")
	if len(c.heard) == 0 {
		return nil, nil
	}
	heard := model.Message{Role: model.User, Content: c.heard}
	answers := c.history.Len()
	if c.sent {
		answers--
	}
	if c.heard[0].Type != model.ToolResult || answers == 0 {
		return []model.Message{heard}, nil
	}
	last, err := c.history.Message(answers - 1)
	if err != nil {
		return nil, err
	}
	return []model.Message{last, heard}, nil
}

// renewed returns the conversation that continues after a summary.
func (t *turn) renewed(summary string, tail []model.Message) []model.Message {
	a := t.a
	a.fresh = true
	clear(a.named)
	t.tools = a.Tools().Renew() // the cached prefix is lost anyway
	notes := t.facts()
	if a.opts.Carry != nil {
		notes = append(notes, a.opts.Carry()...)
	}
	notes = append(notes, a.fire(t.asking, hook.SessionStart{Source: "compact", Model: a.settings().model}).Notes...)
	first := model.Message{Role: model.User}
	for _, n := range notes {
		if !says(tail, reminder(n).Text) {
			first.Content = append(first.Content, reminder(n))
		}
	}
	first.Content = append(first.Content, model.TextOf("The conversation so far was compacted to keep it within the context. This summary replaces it:\n\n"+summary))
	if len(tail) == 1 { // ours too
		first.Content = append(first.Content, tail[0].Content...)
		return []model.Message{first}
	}
	return append([]model.Message{first}, tail...)
}

// says reports whether one of the messages holds a text as a block.
func says(messages []model.Message, text string) bool {
	return slices.ContainsFunc(messages, func(m model.Message) bool {
		return slices.ContainsFunc(m.Content, func(b model.Block) bool { return b.Text == text })
	})
}

// replace makes messages the conversation.
func (t *turn) replace(done *Compacted, messages []model.Message) error {
	a := t.a
	entry := session.Entry{UUID: done.UUID, Agent: a.opts.Agent, Compaction: &session.Compaction{Trigger: done.Trigger, PreTokens: done.PreTokens, Messages: messages}}
	if err := t.journal.Append(t.lasting, entry); err != nil {
		return err
	}
	var c conversation
	var tokens int64
	for _, m := range messages {
		tokens += estimate(m.Content)
		if m.Role == model.User {
			c.hear(m.Content...)
		} else if _, err := c.ready(); err != nil {
			return err
		} else if _, err := c.answer(m.Content); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.talk = c
	a.set.tools = a.set.tools.Renew()
	a.ledger.restart(tokens)
	return nil
}
