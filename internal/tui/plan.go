package tui

import (
	"fmt"

	"github.com/haftdev/haft/internal/ask"
	"github.com/haftdev/haft/internal/tui/composer"
	"github.com/haftdev/haft/internal/tui/key"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/tool"
)

// A plan waits for the person's agreement.
type plan struct {
	app    *app
	text   string
	decide func(tool.Verdict)
	at     int
	words  *composer.Composer
}

var planChoices = []string{"Agree; edits need no further approval", "Agree; ask about each edit", "Not yet: say what to change"}

func (p *plan) lines(v view, _ int) []string {
	lines := []string{v.paint.Accent.Of("? ") + v.paint.Bold.Of("Do you agree to the plan above?")}
	for i, c := range planChoices {
		c = fmt.Sprintf("%d %s", i+1, c)
		if i == 2 && p.words != nil {
			c = "3 " + visible.Cells(p.words.Text()) + "▏"
		}
		lines = append(lines, option(v, i == p.at, c))
	}
	return lines
}

// typing reports whether keys are letters of what is to be changed.
func (p *plan) typing() bool { return p.words != nil }

func (p *plan) key(k key.Key) bool {
	switch {
	case k.Name == key.Up:
		p.at, p.words = max(p.at-1, 0), nil
	case k.Name == key.Down:
		p.at, p.words = min(p.at+1, len(planChoices)-1), nil
	case k.Name == key.Enter:
		p.enter()
	case p.words != nil:
		return p.words.Key(k)
	case k.Writes() && k.Rune >= '1' && int(k.Rune-'1') < len(planChoices):
		p.at = int(k.Rune - '1')
	default:
		return false
	}
	return true
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
	case p.at == 2 && p.words == nil:
		p.words = composer.New(nil)
	case p.at == 2:
		p.decide(tool.Verdict{Behavior: tool.Deny, Reason: "the person does not agree to the plan yet", Message: ask.Denial(p.words.Filled())})
	default:
		mode := "default"
		if p.at == 0 {
			mode = "acceptEdits"
		}
		if err := p.app.talk.State.SetMode(mode); err != nil {
			p.app.note(err.Error())
		}
		p.decide(tool.Verdict{Behavior: tool.Allow, Reason: "the person agreed to the plan"})
	}
}
