package tui

import (
	"fmt"

	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/front/tui/markdown"
	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/internal/text/lang"
	exitplan "github.com/haftdev/haft/internal/tools/plan"
	"github.com/haftdev/haft/tool"
)

// A plan waits for the person's agreement.
type plan struct {
	app    *app
	text   string
	decide func(tool.Verdict)
	at     selection
	words  *composer.Composer
}

// newPlan returns nil for a call that has no plan which can be shown.
func newPlan(a *app, c tool.Case, decide func(tool.Verdict)) panel {
	words := exitplan.Text(c.Call)
	if words == "" {
		return nil
	}
	// The plan goes into the scrollback, where it can be read however long it is.
	shown := &text{stream: markdown.New(a.view().width, a.paint)}
	shown.stream.Write("# " + a.t("The plan") + "\n\n" + words)
	shown.close()
	a.show.insert(shown, a.turn().calls[c.Call.UseID])
	return newPlanPanel(a, words, decide)
}

// planChoices are the answers, with the letters of the other questions.
var planChoices = []struct {
	letter rune
	text   lang.Text
}{
	{'m', "Approve, and allow all edits this session (mode acceptEdits)"},
	{'y', "Approve, and ask about each edit"},
	{'e', "Not yet: say what to change"},
}

func newPlanPanel(a *app, text string, decide func(tool.Verdict)) *plan {
	return &plan{app: a, text: text, decide: decide, at: selection{0, len(planChoices)}}
}

func (p *plan) lines(v view, _ int) []string {
	lines := []string{v.paint.Accent.Of("? ") + v.paint.Bold.Of(v.t("Approve the plan above?"))}
	for i, c := range planChoices {
		text := fmt.Sprintf("%c %s", c.letter, v.t(c.text))
		if i == 2 && p.words != nil {
			text = fmt.Sprintf("%c %s", c.letter, typed(p.words))
		}
		lines = append(lines, wrappedOption(v, i == p.at.at, text)...)
	}
	return lines
}

// typing reports whether keys are letters of what is to be changed.
func (p *plan) typing() bool { return p.words != nil }

func (p *plan) key(k key.Key) bool {
	switch {
	case k.Name == key.Enter:
		p.enter()
	case p.words != nil && k.Name != key.Up && k.Name != key.Down:
		return p.words.Key(k)
	default:
		for i, c := range planChoices {
			if (k == key.Key{Rune: c.letter}) {
				p.at.at = i
				p.enter()
				return true
			}
		}
		p.words = nil
		return p.at.key(k)
	}
	return true
}

// take selects the answer that was typed into the input box.
func (p *plan) take(text string) bool { return p.at.take(text, "mye") }

func (p *plan) paste(text string) bool {
	if p.words == nil {
		return false
	}
	p.words.Paste(text)
	return true
}

func (p *plan) enter() {
	switch {
	case !p.at.made():
	case p.at.at == 2 && p.words == nil:
		p.words = composer.New(nil)
	case p.at.at == 2:
		p.decide(tool.Verdict{Behavior: tool.Deny, Reason: "the user does not approve the plan yet", Message: ask.Denial(p.words.Filled())})
	default:
		mode := "default"
		if p.at.at == 0 {
			mode = acceptEdits
		}
		p.decide(ask.InMode(mode, "the user approved the plan"))
	}
}
