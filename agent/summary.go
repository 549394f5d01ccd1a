package agent

import (
	_ "embed"
	"errors"
	"strings"

	"github.com/haftdev/haft/model"
)

//go:embed summary.md
var summaryPrompt string

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
