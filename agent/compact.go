package agent

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

//go:embed compact.md
var compactPrompt string

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
		// The conversation goes on as it is; it may still fit. Not before it has grown
		// by a good deal is it worth another attempt.
		a.mu.Lock()
		a.ledger.patience = tokens + tokens/20
		a.mu.Unlock()
	}
	return t.stopped(false)
}

// compact replaces the conversation by a summary of it. What was heard since the
// last answer stays as it is, with the calls that it holds the results of.
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
	a.mu.Lock()
	a.ledger.patience = done.Tokens + a.window(a.set.model)/20 // not again for what it had to keep
	a.mu.Unlock()
	a.out.put(Added{UUID: done.UUID, Kind: Summarized, Message: messages[0], Agent: a.opts.Agent})
	return nil
}

// condense returns the messages that the conversation goes on with.
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

// tail returns the messages that a summary must not swallow: what was heard since
// the last answer, and that answer if its calls' results are part of it.
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

// summarize asks the model for a summary of all but the last messages, with the
// conversation as it was sent before, so that the provider's cache serves it. If
// even that is too long, the newer half has to do.
func (t *turn) summarize(instructions string, tail int) (string, error) {
	a := t.a
	a.mu.Lock()
	set := a.set
	h, err := a.talk.ready()
	a.mu.Unlock()
	if err != nil {
		return "", err
	}
	for from, to := 0, h.Len()-tail; ; from += (to - from + 1) / 2 {
		if from >= to {
			return "", errors.New("there is nothing to compact yet")
		}
		asked, err := withQuestion(h, from, to, summaryQuestion(instructions))
		if err != nil {
			return "", err
		}
		summary, err := t.oneAnswer(&model.Request{
			Model: set.model, System: a.opts.System, Tools: t.tools.Request(), Messages: asked, MaxTokens: a.opts.MaxTokens,
			Thinking: set.thinking, Effort: set.effort, Betas: a.opts.Betas, TextOnly: true, Session: t.journal.ID(),
		})
		var e *model.Error
		if errors.As(err, &e) && e.Kind == model.PromptTooLong && to-from > 2 {
			continue
		}
		return summary, err
	}
}

// withQuestion returns a part of a conversation that can be sent, with a question
// at its end. What begins in the middle begins with an answer of the model's, so
// that no result is without its call; what ends with a message of ours has the
// question in it.
func withQuestion(h *model.History, from, to int, question model.Block) (*model.History, error) {
	asked := h.Prefix(0)
	content := []model.Block{question}
	last, err := h.Message(to - 1)
	if err != nil {
		return nil, err
	}
	if last.Role == model.User {
		to--
		content = append(last.Content, question)
	}
	if from > 0 {
		first, err := h.Message(from)
		if err != nil {
			return nil, err
		}
		if first.Role == model.User {
			from--
		}
		if err := asked.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("[The beginning of the conversation is left out.]")}}); err != nil {
			return nil, err
		}
	}
	for i := from; i < to; i++ {
		asked.AppendJSON(h.JSON(i))
	}
	return asked, asked.Append(model.Message{Role: model.User, Content: content})
}

func summaryQuestion(instructions string) model.Block {
	s := compactPrompt
	if instructions = strings.TrimSpace(instructions); instructions != "" {
		s += "\nAttend to this in particular:\n" + instructions + "\n"
	}
	return model.TextOf(s)
}

// oneAnswer asks for text beside the conversation.
func (t *turn) oneAnswer(req *model.Request) (string, error) {
	var answer []model.Block
	var usage model.Usage
	began := time.Now()
	defer func() {
		t.res.APITime += time.Since(began)
		t.a.Spend(req.Model, usage)
	}()
	for ev, err := range t.a.opts.Model.Stream(t.asking, req) {
		if err != nil {
			return "", err
		}
		switch ev := ev.(type) {
		case model.Retry:
			t.a.out.put(Retrying{ev})
		case model.Start:
			answer, usage = nil, ev.Usage
		case model.BlockStop:
			answer = append(answer, ev.Block)
		case model.Stop:
			usage = ev.Usage
		}
	}
	s := text(answer)
	if _, after, ok := strings.Cut(s, "<summary>"); ok {
		s, _, _ = strings.Cut(after, "</summary>")
	}
	if s = strings.TrimSpace(s); s == "" {
		return "", errEmptySummary
	}
	return s, nil
}

// renewed returns the conversation that goes on after a summary.
func (t *turn) renewed(summary string, tail []model.Message) []model.Message {
	a := t.a
	a.fresh = true
	clear(a.named)
	notes := t.facts()
	if a.opts.Carry != nil {
		notes = append(notes, a.opts.Carry()...)
	}
	notes = append(notes, a.fire(t.asking, hook.SessionStart{Source: "compact", Model: a.settings().model}).Notes...)
	first := model.Message{Role: model.User}
	for _, n := range notes {
		first.Content = append(first.Content, reminder(n))
	}
	first.Content = append(first.Content, model.TextOf("The conversation so far was compacted to keep it within the context. This summary stands for it:\n\n"+summary))
	if len(tail) == 1 { // ours too
		first.Content = append(first.Content, tail[0].Content...)
		return []model.Message{first}
	}
	return append([]model.Message{first}, tail...)
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
	a.ledger.restart(tokens)
	return nil
}

// compactCommand is a turn that only compacts.
func (t *turn) compactCommand() Reason {
	err := t.compact("manual", text(t.prompt.Content))
	if end := t.stopped(false); end != "" {
		return end
	}
	if err != nil {
		t.res.Text = "The conversation was not compacted: " + err.Error()
		return t.fail(APIError, err)
	}
	t.res.Text = "The conversation was compacted."
	return Completed
}

// clearCommand is a turn that forgets the conversation. Nothing of it is deleted.
func (t *turn) clearCommand() Reason {
	a := t.a
	a.fire(t.asking, hook.SessionEnd{Reason: "clear"})
	if a.opts.Renew != nil {
		j, err := a.opts.Renew(t.lasting)
		if err != nil {
			return t.fail(JournalFailure, fmt.Errorf("begin a new session: %w", err))
		}
		a.mu.Lock()
		a.journal = j
		a.talk = conversation{}
		a.ledger.restart(0)
		a.mu.Unlock()
	} else if err := t.replace(&Compacted{UUID: session.NewUUID(), Trigger: "clear", PreTokens: t.tokens()}, nil); err != nil {
		return t.fail(JournalFailure, err)
	}
	a.fresh, a.started, a.source = true, false, "clear"
	clear(a.named)
	a.out.put(Changed{Cleared, a.Session()})
	return Completed
}
