package tui

import (
	"strings"

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

	problem lang.Text
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

// planChoices are the answers, with the letters of the other questions, the narrowest approval
// first.
var planChoices = []struct {
	letter rune
	text   lang.Text
}{
	{'y', "Approve, and ask about each edit"},
	{'m', "Approve, and allow all edits this session (mode acceptEdits)"},
	{'e', "Not yet: say what to change"},
}

// notYet is the last of them.
const notYet = 2

func newPlanPanel(a *app, text string, decide func(tool.Verdict)) *plan {
	return &plan{app: a, text: text, decide: decide, at: none(len(planChoices))}
}

func (p *plan) lines(v view, _ int) []string {
	lines := []string{v.paint.Accent.Of("? ") + v.paint.Bold.Of(v.t("Approve the plan above?"))}
	for i, c := range planChoices {
		text := v.t(c.text)
		if i == notYet && p.words != nil {
			text = typed(p.words)
		}
		lines = append(lines, letterOption(v, i == p.at.at, c.letter, text)...)
	}
	if p.problem != "" && v.turned {
		lines = append(lines, indentedWrap(v.t(p.problem), v, v.paint.Warn)...)
	}
	return lines
}

// typing reports whether keys are letters of what is to be changed.
func (p *plan) typing() bool { return p.words != nil }

func (p *plan) asks(words *lang.Catalogue) string { return words.T("Approve the plan above?") }

func (p *plan) backs() bool { return p.typing() }
func (p *plan) goBack()     { p.words = nil }

// lit is the answer that enter takes.
func (p *plan) lit() any {
	if p.words != nil {
		return nil
	}
	return p.at.lit()
}

func (p *plan) key(k key.Key) bool {
	p.problem = ""
	switch {
	case k.Name == key.Enter:
		p.enter()
	case p.words != nil:
		return p.words.Key(k)
	case k == key.Key{Rune: 'y'}:
		p.at.at = 0
		p.enter()
	case k == key.Key{Rune: 'm'}:
		p.at.at, p.problem = 1, "enter confirms it"
	case k == key.Key{Rune: 'e'}, k == key.Key{Rune: 'n'}:
		p.at.at = notYet
		p.enter()
	default:
		return p.at.key(k)
	}
	return true
}

// take selects the answer that was typed into the input box.
func (p *plan) take(text string, _ bool) bool {
	if text := strings.ToLower(text); text == "n" || text == "no" {
		p.at.at = notYet
		return true
	}
	return p.at.take(text, "yme")
}

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
		p.problem = "Nothing is selected: y approves it, n does not."
	case p.at.at == notYet && p.words == nil:
		p.words = composer.New(nil)
	case p.at.at == notYet:
		p.decide(tool.Verdict{Behavior: tool.Deny, Reason: "the user does not approve the plan yet", Message: ask.Denial(p.words.Filled())})
	default:
		mode := "default"
		if p.at.at == 1 {
			mode = acceptEdits
		}
		p.decide(ask.InMode(mode, "the user approved the plan"))
	}
}
