package agent

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
)

// says reports whether one of the messages holds a text as a block.
func says(messages []model.Message, text string) bool {
	return slices.ContainsFunc(messages, func(m model.Message) bool {
		return slices.ContainsFunc(m.Content, func(b model.Block) bool { return b.Text == text })
	})
}

// A room keeps the conversation small enough for the model.
type room struct {
	outcome

	repeats *sched.Repeats
}

// clearCommand is a turn that forgets the conversation. Nothing of it is deleted.
func (t *room) clearCommand() Reason {
	a := t.a
	a.fire(t.asking, hook.SessionEnd{Reason: "clear"})
	if a.opts.Renew != nil {
		j, err := a.opts.Renew(t.lasting)
		if err != nil {
			return t.fail(JournalFailure, fmt.Errorf("start a new session: %w", err))
		}
		a.mu.Lock()
		a.journal = j
		a.talk = conversation{}
		a.set.tools = a.set.tools.Renew()
		a.noted.renew()
		a.ledger.renew()
		a.mu.Unlock()
	} else if err := t.replace(&Compacted{UUID: session.NewUUID(), Trigger: "clear", PreTokens: t.tokens()}, nil); err != nil {
		return t.fail(JournalFailure, err)
	}
	a.fresh, a.started, a.source = true, false, "clear"
	clear(a.named)
	a.out.put(Changed{Cleared, a.Session()})
	return Completed
}

// makeRoom compacts the conversation if it is about to outgrow the context.
func (t *room) makeRoom() Reason {
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
func (t *room) compact(trigger, instructions string) error {
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
func (t *room) condense(trigger, instructions string) ([]model.Message, error) {
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

// renewed returns the conversation that continues after a summary.
func (t *room) renewed(summary string, tail []model.Message) []model.Message {
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

// summarize asks the model for a summary of all but the last messages, with the
// conversation as it was sent before, so that the provider's cache is used. If even that is
// too long, only the newer half is summarised. A model that continues with its work instead
// is asked once more.
func (t *room) summarize(instructions string, tail int) (string, error) {
	a := t.a
	a.mu.Lock()
	set := a.set
	h, err := a.talk.ready()
	a.mu.Unlock()
	if err != nil {
		return "", err
	}
	question, again := summaryQuestion(instructions), false
	for from, to := 0, h.Len()-tail; from < to; {
		asked, err := withQuestion(h, from, to, question)
		if err != nil {
			return "", err
		}
		req := t.question(&set, asked)
		req.TextOnly = true
		summary, err := t.oneAnswer(req)
		var e *model.Error
		switch {
		case errors.As(err, &e) && e.Kind == model.PromptTooLong && to-from > 2:
			from += (to - from + 1) / 2
		case errors.Is(err, errNoSummary) && !again:
			again = true
			question.Text += summaryAgain
		default:
			return summary, err
		}
	}
	return "", errors.New("there is nothing to compact yet")
}

// withQuestion returns a part of a conversation that can be sent, with a question at its
// end. A part from the middle begins with an answer of the model, so that no result is
// without its call; if it ends with a message of ours, the question is added to that.
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
	s := summaryPrompt
	if instructions = strings.TrimSpace(instructions); instructions != "" {
		s += "\nPay particular attention to this:\n" + instructions + "\n"
	}
	return model.TextOf(s)
}

// oneAnswer requests a summary outside the conversation.
func (t *room) oneAnswer(req *model.Request) (string, error) {
	var answer []model.Block
	var stop model.Stop
	var usage model.Usage
	name, began := req.Model, time.Now()
	defer func() {
		t.res.APITime += time.Since(began)
		t.a.Spend(name, usage)
	}()
	for ev, err := range t.a.opts.Model.Stream(t.asking, req) {
		if err != nil {
			return "", err
		}
		switch ev := ev.(type) {
		case model.Retry:
			t.a.out.put(Retrying{ev})
		case model.Fallback:
			t.a.out.put(FellBack{ev})
			t.a.SetModel(ev.To)
			name = ev.To
		case model.Start:
			answer, usage = nil, ev.Usage
		case model.BlockStop:
			answer = append(answer, ev.Block)
		case model.Stop:
			stop, usage = ev, ev.Usage
		}
	}
	if stop.Reason == model.Refusal {
		return "", errors.New("the model declined to summarize it")
	}
	return summaryIn(answer)
}

// summaryIn finds the summary in an answer. A model that did not put it between marks wrote
// nothing else, unless it was about to call something.
func summaryIn(answer []model.Block) (string, error) {
	s := text(answer)
	if _, after, ok := strings.Cut(s, "<summary>"); ok {
		s, _, _ = strings.Cut(after, "</summary>")
	} else if len(uses(answer)) > 0 {
		s = ""
	}
	if s = strings.TrimSpace(s); s == "" {
		return "", errNoSummary
	}
	return s, nil
}
