package agent

import (
	_ "embed"
	"errors"
	"strings"
	"time"

	"github.com/haftdev/haft/model"
)

//go:embed summary.md
var summaryPrompt string

// summarize asks the model for a summary of all but the last messages, with the
// conversation as it was sent before, so that the provider's cache is used. If even that is
// too long, only the newer half is summarised. A model that continues with its work instead
// is asked once more.
func (t *turn) summarize(instructions string, tail int) (string, error) {
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

var errNoSummary = errors.New("the model gave no summary")

const summaryAgain = "\nYou were asked this before and replied with a call or nothing. Calls are not run now. Write the summary as text.\n"

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
func (t *turn) oneAnswer(req *model.Request) (string, error) {
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
