package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/front/tui/markdown"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/tools/question"
	"github.com/haftdev/haft/tool"
)

// questions are what the model asks the person, one after the other.
type questions struct {
	input   question.Input
	decide  func(tool.Verdict)
	now     int // the question that is asked
	at      int // the option that is selected; past the last one it is their own words
	chosen  map[int]bool
	words   *composer.Composer
	answers map[string]string
}

// newQuestions returns nil for a call that asks nothing which can be shown.
func newQuestions(c tool.Case, decide func(tool.Verdict)) panel {
	in, err := question.Of(c.Call)
	if err != nil || len(in.Questions) == 0 {
		return nil
	}
	return &questions{input: in, decide: decide, chosen: map[int]bool{}, answers: map[string]string{}}
}

func (q *questions) asked() question.Question { return q.input.Questions[q.now] }

func (q *questions) lines(v view, height int) []string {
	a := q.asked()
	title := visible.ProseCells(a.Header)
	if n := len(q.input.Questions); n > 1 {
		title += " (" + v.t("%d of %d", q.now+1, n) + ")"
	}
	lines := []string{v.paint.Accent.Of("? ") + v.paint.Bold.Of(title)}
	for _, l := range hardWrap(visible.ProseCells(a.Text), v.width-2) {
		lines = append(lines, "  "+l)
	}
	selected := 0 // the line of it
	for i, o := range a.Options {
		if i == q.at {
			selected = len(lines)
		}
		mark := ""
		if a.Multiple {
			mark = "☐ "
			if q.chosen[i] {
				mark = "☑ "
			}
		}
		lines = append(lines, wrappedOption(v, i == q.at, fmt.Sprintf("%d %s%s", i+1, mark, visible.ProseCells(o.Label)))...)
		if o.Description != "" {
			for _, l := range hardWrap(visible.ProseCells(o.Description), v.width-8) {
				lines = append(lines, v.paint.Dim.Of("        "+l))
			}
		}
	}
	other := v.t("something else")
	if q.words != nil {
		other = typed(q.words)
	}
	if q.at == len(a.Options) {
		selected = len(lines)
	}
	lines = append(lines, wrappedOption(v, q.at == len(a.Options), fmt.Sprintf("%d %s", len(a.Options)+1, other))...)
	if a.Multiple {
		lines = append(lines, v.paint.Dim.Of("    "+v.t("space or a number: select · enter: continue")))
	}
	lines = append(lines, q.preview(v, height-len(lines))...)
	return aroundSelected(lines, selected, height, v)
}

// aroundSelected are as many lines as there is room for, with the one that is selected, and
// what is typed there, among them.
func aroundSelected(lines []string, selected, height int, v view) []string {
	height = max(height, 4)
	if len(lines) <= height {
		return lines
	}
	from := min(max(selected-height+3, 0), len(lines)-height)
	shown := slices.Clone(lines[from : from+height])
	if from > 0 {
		shown[0] = v.paint.Dim.Of("  …")
	}
	if from+height < len(lines) {
		shown[height-1] = v.paint.Dim.Of("  …")
	}
	return shown
}

// typing reports whether keys are letters of the person's own words.
func (q *questions) typing() bool { return q.words != nil }

// preview is what the option that is selected would look like, as far as it fits.
func (q *questions) preview(v view, room int) []string {
	a := q.asked()
	if q.at >= len(a.Options) || a.Options[q.at].Preview == "" || room < 3 {
		return nil
	}
	md := markdown.New(max(v.width-6, 8), v.paint)
	md.Write(a.Options[q.at].Preview)
	lines := []string{""}
	for i, l := range md.Close() {
		if i == room-2 {
			lines = append(lines, v.paint.Dim.Of("    │ …"))
			break
		}
		lines = append(lines, v.paint.Dim.Of("    │ ")+l)
	}
	return lines
}

func (q *questions) key(k key.Key) bool {
	n := len(q.asked().Options)
	switch {
	case k.Name == key.Up:
		q.at, q.words = max(q.at-1, 0), nil
	case k.Name == key.Down:
		q.at, q.words = min(q.at+1, n), nil
	case k.Name == key.Enter:
		q.enter()
	case q.words != nil:
		return q.words.Key(k)
	case k == key.Key{Rune: ' '} && q.asked().Multiple && q.at < n:
		q.chosen[q.at] = !q.chosen[q.at]
	case k.Writes() && k.Rune >= '1' && int(k.Rune-'1') <= n:
		if q.at = int(k.Rune - '1'); q.asked().Multiple && q.at < n {
			q.chosen[q.at] = !q.chosen[q.at]
		}
	case k.Writes() && k.Rune != ' ':
		q.own("")
		return q.words.Key(k)
	default:
		return false
	}
	return true
}

// own begins an answer in the user's own words.
func (q *questions) own(text string) {
	q.at, q.words = len(q.asked().Options), composer.New(nil)
	q.words.Set(text)
}

// take brings what was typed into the input box: the number of an option, or the user's own
// words.
func (q *questions) take(text string) bool {
	if s := (selection{q.at, len(q.asked().Options)}); s.take(text, "") {
		q.at, q.words = s.at, nil
		q.chosen[q.at] = true
		return true
	}
	q.own(text)
	return true
}

// paste goes into the person's own words.
func (q *questions) paste(text string) bool {
	if q.words == nil {
		return false
	}
	q.words.Paste(text)
	return true
}

// enter answers the question that is asked.
func (q *questions) enter() {
	a := q.asked()
	switch {
	case q.at == len(a.Options) && q.words == nil:
		q.own("")
		return
	case q.words != nil:
		text := strings.TrimSpace(q.words.Filled())
		if text == "" {
			return
		}
		q.answers[a.Text] = text
	case a.Multiple:
		var labels []string
		for i, o := range a.Options {
			if q.chosen[i] {
				labels = append(labels, o.Label)
			}
		}
		if len(labels) == 0 {
			return // nothing is ticked, and what is selected is not a choice
		}
		q.answers[a.Text] = strings.Join(labels, ", ")
	default:
		q.answers[a.Text] = a.Options[q.at].Label
	}
	q.now, q.at, q.words, q.chosen = q.now+1, 0, nil, map[int]bool{}
	if q.now == len(q.input.Questions) {
		q.now--
		q.done()
	}
}

func (q *questions) done() {
	in := q.input
	in.Answers = q.answers
	raw, err := json.Marshal(in)
	if err != nil {
		q.decide(tool.Verdict{Behavior: tool.Deny, Reason: "could not send the answers: " + err.Error()})
		return
	}
	q.decide(tool.Verdict{Behavior: tool.Allow, Reason: "the user answered", Input: raw})
}
