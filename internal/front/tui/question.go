package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/front/tui/markdown"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/tools/question"
	"github.com/haftdev/haft/tool"
)

// questions are what the model asks the person, one after the other, and at the end all
// answers once more, if there are several.
type questions struct {
	input   question.Input
	decide  func(tool.Verdict)
	now     int // the question that is asked; past the last one, the review
	replies []reply
	problem lang.Text
}

// A reply is how far a question is answered. Nothing of it is lost by going to another one.
type reply struct {
	at     int // the option that is selected; past the last one it is their own words, -1 is none
	chosen map[int]bool
	words  *composer.Composer // the free-text answer
	typing bool               // keys are letters of it
	given  bool               // it was answered
}

// newQuestions returns nil for a call that asks nothing which can be shown.
func newQuestions(c tool.Case, decide func(tool.Verdict)) panel {
	in, err := question.Of(c.Call)
	if err != nil || len(in.Questions) == 0 {
		return nil
	}
	q := &questions{input: in, decide: decide}
	for range in.Questions {
		q.replies = append(q.replies, reply{at: -1, chosen: map[int]bool{}, words: composer.New(nil)})
	}
	return q
}

// reviews reports whether the answers are shown once more before they are sent.
func (q *questions) reviews() bool { return q.now == len(q.replies) }

// at is the question that is asked, and the reply to it.
func (q *questions) at() (question.Question, *reply) {
	return q.input.Questions[q.now], &q.replies[q.now]
}

// answer is the reply to a question in words, "" for none.
func (q *questions) answer(i int) string {
	a, r := q.input.Questions[i], &q.replies[i]
	var parts []string
	for j, o := range a.Options {
		if a.Multiple && r.chosen[j] || !a.Multiple && r.at == j {
			parts = append(parts, o.Label)
		}
	}
	if own := strings.TrimSpace(r.words.Filled()); own != "" && (a.Multiple || r.at == len(a.Options)) {
		parts = append(parts, own)
	}
	return strings.Join(parts, ", ")
}

// answered reports whether a question has an answer that the person confirmed.
func (q *questions) answered(i int) bool { return q.replies[i].given && q.answer(i) != "" }

// lit is what enter takes: an option of a question, or sending what is reviewed.
func (q *questions) lit() any {
	if q.reviews() {
		return q.now
	}
	if _, r := q.at(); !r.typing && r.at >= 0 {
		return [2]int{q.now, r.at}
	}
	return nil
}

func (q *questions) lines(v view, height int) []string {
	if q.reviews() {
		return q.review(v, height)
	}
	a, r := q.at()
	title := visible.ProseCells(a.Header)
	if n := len(q.replies); n > 1 {
		title += " (" + v.t("%d of %d", q.now+1, n) + ")"
	}
	lines := []string{v.paint.Accent.Of("? ") + v.paint.Bold.Of(title)}
	for _, l := range hardWrap(visible.ProseCells(a.Text), v.width-2) {
		lines = append(lines, "  "+l)
	}
	selected := 0 // the line of it
	for i, o := range a.Options {
		if i == r.at {
			selected = len(lines)
		}
		lines = append(lines, wrappedOption(v, i == r.at, fmt.Sprintf("%d %s%s", i+1, tick(a.Multiple, r.chosen[i]), visible.ProseCells(o.Label)))...)
		if o.Description != "" {
			for _, l := range hardWrap(visible.ProseCells(o.Description), v.width-8) {
				lines = append(lines, v.paint.Dim.Of("        "+l))
			}
		}
	}
	other := v.t("something else")
	if r.typing {
		other = typed(r.words)
	} else if !r.words.Empty() {
		other = visible.ProseCells(strings.ReplaceAll(r.words.Text(), "\n", "⏎"))
	}
	if r.at == len(a.Options) {
		selected = len(lines)
	}
	lines = append(lines, wrappedOption(v, r.at == len(a.Options), fmt.Sprintf("%d %s%s", len(a.Options)+1, tick(a.Multiple, !r.words.Empty()), other))...)
	lines = append(lines, q.troubles(v)...)
	lines = append(lines, q.preview(v, height-len(lines))...)
	return aroundSelected(lines, selected, height, v)
}

// tick is the mark before an option of which several can be chosen.
func tick(multiple, chosen bool) string {
	switch {
	case !multiple:
		return ""
	case chosen:
		return "☑ "
	}
	return "☐ "
}

func (q *questions) troubles(v view) []string {
	if q.problem == "" {
		return nil
	}
	return indentedWrap(v.t(q.problem), v, v.paint.Warn)
}

// review is all questions with their answers.
func (q *questions) review(v view, height int) []string {
	lines := []string{v.paint.Accent.Of("? ") + v.paint.Bold.Of(v.t("Your answers"))}
	for i, a := range q.input.Questions {
		said := v.t("not answered")
		if q.answered(i) {
			said = visible.ProseCells(strings.ReplaceAll(q.answer(i), "\n", "⏎"))
		}
		lines = append(lines, hangingWrap(fmt.Sprintf("    %d %s: %s", i+1, visible.ProseCells(a.Header), said), v.width-2)...)
	}
	lines = append(lines, option(v, true, v.t("Send these answers")))
	return aroundSelected(append(lines, q.troubles(v)...), len(lines)-1, height, v)
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

// typing reports whether keys are letters of a free-text answer.
func (q *questions) typing() bool { return !q.reviews() && q.replies[q.now].typing }

func (q *questions) asks(*lang.Catalogue) string { return q.input.Questions[0].Text }

func (q *questions) backs() bool { return q.typing() }

// goBack goes back to the options; the words stay.
func (q *questions) goBack() { q.replies[q.now].typing = false }

// hints say what keys do.
func (q *questions) hints(v view) []string {
	if q.reviews() {
		return []string{v.t("enter sends them"), v.t("left or a number: back to a question")}
	}
	a, r := q.at()
	var list []string
	switch {
	case r.typing:
		return []string{v.t("enter continues")}
	case a.Multiple:
		list = []string{v.t("space or a number: select"), v.t("enter continues")}
	default:
		list = []string{v.t("up, down or a number, then enter")}
	}
	if len(q.replies) > 1 {
		list = append(list, v.t("left, right: other questions"))
	}
	return list
}

// preview is what the option that is selected would look like, as far as it fits.
func (q *questions) preview(v view, room int) []string {
	a, r := q.at()
	if r.at < 0 || r.at >= len(a.Options) || a.Options[r.at].Preview == "" || room < 3 {
		return nil
	}
	md := markdown.New(max(v.width-6, 8), v.paint)
	md.Write(a.Options[r.at].Preview)
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
	q.problem = ""
	switch {
	case k.Name == key.Tab && k.Shift, k.Name == key.Left && !q.typing():
		q.now = max(q.now-1, 0)
		return true
	case k.Name == key.Tab, k.Name == key.Right && !q.typing():
		if q.now = min(q.now+1, len(q.replies)); len(q.replies) == 1 {
			q.now = 0
		}
		return true
	case q.reviews():
		return q.reviewKey(k)
	}
	a, r := q.at()
	n := len(a.Options)
	switch {
	case k.Name == key.Up && r.at < 0:
		r.at = n
	case k.Name == key.Up:
		r.at, r.typing = max(r.at-1, 0), false
	case k.Name == key.Down:
		r.at, r.typing = min(r.at+1, n), false
	case k.Name == key.Enter:
		q.enter()
	case r.typing:
		return r.words.Key(k)
	case k == key.Key{Rune: ' '} && a.Multiple && r.at >= 0 && r.at < n:
		r.chosen[r.at] = !r.chosen[r.at]
	case k.Writes() && k.Rune >= '1' && int(k.Rune-'1') <= n:
		if r.at = int(k.Rune - '1'); a.Multiple && r.at < n {
			r.chosen[r.at] = !r.chosen[r.at]
		}
	case k.Writes() && k.Rune != ' ':
		q.own()
		return r.words.Key(k)
	default:
		return false
	}
	return true
}

// reviewKey is a key while the answers are shown once more.
func (q *questions) reviewKey(k key.Key) bool {
	switch {
	case k.Name == key.Enter:
		for i := range q.replies {
			if !q.answered(i) {
				q.now, q.problem = i, "This question is not answered yet."
				return true
			}
		}
		q.done()
	case k.Writes() && k.Rune >= '1' && int(k.Rune-'1') < len(q.replies):
		q.now = int(k.Rune - '1')
	default:
		return false
	}
	return true
}

// own has keys write an answer in the user's own words.
func (q *questions) own() {
	a, r := q.at()
	r.at, r.typing = len(a.Options), true
}

// take brings what was typed into the input box: the number of an option, or the user's own
// words if they were meant to be sent.
func (q *questions) take(text string, held bool) bool {
	if q.reviews() {
		return false
	}
	a, r := q.at()
	if s := (selection{r.at, len(a.Options)}); s.take(text, "") {
		r.at, r.typing = s.at, false
		r.chosen[s.at] = true
		return true
	}
	if held {
		q.own()
		r.words.Set(text)
	}
	return held
}

// paste appends to the free-text answer.
func (q *questions) paste(text string) bool {
	if !q.typing() {
		return false
	}
	q.replies[q.now].words.Paste(text)
	return true
}

// enter answers the question that is asked.
func (q *questions) enter() {
	a, r := q.at()
	switch {
	case r.at == len(a.Options) && !r.typing && r.words.Empty():
		q.own()
		return
	case r.at < 0 && !a.Multiple:
		q.problem = "Nothing is selected: up, down or a number, then enter"
		return
	case q.answer(q.now) == "": // nothing is ticked, and what is selected is not a choice
		q.problem = "Nothing is selected: space or a number selects"
		return
	}
	r.typing, r.given = false, true
	if q.now++; len(q.replies) == 1 {
		q.done()
	}
}

func (q *questions) done() {
	in := q.input
	in.Answers = map[string]string{}
	for i, asked := range in.Questions {
		in.Answers[asked.Text] = q.answer(i)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		q.decide(tool.Verdict{Behavior: tool.Deny, Reason: "could not send the answers: " + err.Error()})
		return
	}
	q.decide(tool.Verdict{Behavior: tool.Allow, Reason: "the user answered", Input: raw})
}
