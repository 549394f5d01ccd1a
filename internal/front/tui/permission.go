package tui

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/front/tui/code"
	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/tool"
)

// A permissionPanel is the question whether a call may run.
type permissionPanel struct {
	app      *app
	what     card.Preview
	call     tool.Case
	question tool.Verdict
	resolved string // where its path leads
	decide   func(tool.Verdict)

	choices  []choice
	at       selection
	scroll   scroll
	scope    int                // among scopes, of the choice that keeps a rule
	word     *composer.Composer // the word, or the reason, that is being typed
	kind     typing             // of the word
	problem  string
	selected *choice // that the word is typed for
}

// A choice is one of the answers. Its letter means the same in every question.
type choice struct {
	letter rune
	text   lang.Text
	answer answer
}

type answer int

const (
	allowOnce answer = iota
	allowEdits
	allowSession
	allowAlways
	denyCall
	denyWhy
)

type typing int

const (
	nothing typing = iota
	theWord
	theReason
)

// scopes are where a rule can be kept.
var scopes = []string{"local", "project", "user"}

// safeWord is what must be typed to allow a call that loses something.
const safeWord = "allow"

// rule is what would settle the next such call, several rules in one line, or "". What
// only a person may decide cannot be settled by one.
func (p *permissionPanel) rule() string {
	if p.question.NeedsPerson {
		return ""
	}
	return ask.Rules(p.question.Suggestions)
}

// newPermission selects nothing at first: enter, pressed too early, must not let a call run.
// The answers that allow it come before those that deny it, the narrowest first.
func newPermission(a *app, c tool.Case, question tool.Verdict, decide func(tool.Verdict)) *permissionPanel {
	p := &permissionPanel{app: a, call: c, question: question, decide: decide, what: card.PreviewOf(c, a.lang)}
	if p.what.Path != "" && a.talk != nil {
		p.resolved = a.talk.Rules.Resolved(p.what.Path)
	}
	p.choices = append(p.choices, choice{'y', "Allow this once", allowOnce})
	if p.rule() != "" {
		p.choices = append(p.choices, choice{'s', "Allow for this session", allowSession}, choice{'a', "Allow always", allowAlways})
	}
	if question.AllowedIn == acceptEdits {
		p.choices = append(p.choices, choice{'m', "Allow all edits this session (mode acceptEdits)", allowEdits})
	}
	p.choices = append(p.choices, choice{'n', "Deny", denyCall}, choice{'e', "Deny and explain", denyWhy})
	p.at = none(len(p.choices))
	return p
}

// acceptEdits is the mode in which edits inside the project need no approval.
const acceptEdits = "acceptEdits"

// lines are the question. What is to be read scrolls; the answers stay, in one line
// where the screen is too low for a line each.
func (p *permissionPanel) lines(v view, height int) []string {
	var head []string
	for i, part := range hardWrap(p.title(), v.width-2) {
		lead := "  "
		if i == 0 {
			lead = v.paint.Warn.Of("? ")
		}
		head = append(head, lead+v.paint.Bold.Of(part))
	}
	body, foot := p.body(v), p.answers(v)
	if why := p.why(); why != "" {
		body = append(body, indentedWrap(why, v, v.paint.Dim)...)
	}
	must := len(body)
	if len(head)+len(foot)+min(len(body), 4) > height && p.word == nil {
		must += len(head) - 1
		body, foot = append(append(head[1:], body...), foot...), p.letters(v)
		head = head[:1]
	}
	return append(append(head, p.scroll.window(body, must, height-len(head)-len(foot), v)...), foot...)
}

// letters are the answers in few words, for a screen that is too low for more.
func (p *permissionPanel) letters(v view) []string {
	short := map[answer]lang.Text{allowOnce: "once", allowEdits: "all edits", allowSession: "session", allowAlways: "always", denyCall: "deny", denyWhy: "explain"}
	var words []string
	for i, c := range p.choices {
		letter := string(c.letter)
		switch text := letter + " " + v.t(short[c.answer]); {
		case v.turned && i == p.at.at:
			words = append(words, v.paint.Selected.Of("▸ "+text))
		case v.turned:
			words = append(words, v.paint.Accent.With(v.paint.Bold).Of(letter)+strings.TrimPrefix(text, letter))
		default:
			words = append(words, text)
		}
	}
	var lines []string
	for len(words) > 0 {
		n := len(words)
		for n > 1 && ansi.StringWidth(strings.Join(words[:n], " · ")) > v.width-2 {
			n--
		}
		lines = append(lines, "  "+strings.Join(words[:n], " · "))
		words = words[n:]
	}
	return append(lines, p.troubles(v)...)
}

// title asks what the person decides.
func (p *permissionPanel) title() string {
	s := p.app.t("Use %s?", p.what.Card.String())
	switch {
	case p.call.Ran() && len(p.call.Preview.Files) == 0:
		s = p.app.t("Give the model the output of this command?")
	case p.call.Ran():
		s = p.app.t("Apply the changes that this command made?")
	case p.call.Call.Tool == "Bash":
		s = p.app.t("Run this command?")
	case p.what.Path != "":
		s = p.app.t("%s %s?", p.what.Title, visible.Indented(p.app.short(p.what.Path)))
	}
	if id := p.call.Call.Agent; id != "" {
		who := id
		if t, ok := p.app.crew[id]; ok {
			who = taskName(t)
		}
		s = p.app.t("%s (for the agent %s)", s, visible.Cells(who))
	}
	return s
}

// typing reports whether keys are letters of a word or a reason.
func (p *permissionPanel) asks(*lang.Catalogue) string { return p.title() + " " + p.what.Text }

func (p *permissionPanel) typing() bool { return p.word != nil }

func (p *permissionPanel) backs() bool { return p.typing() }
func (p *permissionPanel) goBack()     { p.word = nil }

// lit is the answer that enter takes.
func (p *permissionPanel) lit() any {
	if p.word != nil || !p.at.made() { // words are what is decided, or nothing
		return nil
	}
	return [2]any{p.at.lit(), p.scope}
}

func (p *permissionPanel) why() string {
	why := visible.Indented(p.app.relative(p.app.lang.Sentence(p.question.Reason)))
	if p.question.Rule != "" {
		why += p.app.t(" (%s in %s)", visible.Indented(p.question.Rule), visible.Indented(p.question.Origin))
	}
	return why
}

// body is what would happen: the exact text, where a path leads, the change.
func (p *permissionPanel) body(v view) []string {
	var lines []string
	if p.resolved != "" {
		lines = append(lines, indentedWrap(v.t("it leads to %s", visible.Indented(p.resolved)), v, v.paint.Warn)...)
	}
	if p.question.Message != "" && p.question.NeedsPerson {
		lines = append(lines, indentedWrap(visible.Cells(p.question.Message), v, "")...)
	}
	lang := ""
	if p.call.Call.Tool == "Bash" {
		lang = "sh"
	}
	h := code.New(lang, v.paint)
	if p.what.Text != "" && p.what.Text != "{}" {
		for _, l := range strings.Split(p.what.Text, "\n") {
			for _, part := range strings.Split(ansi.Hardwrap(strings.ReplaceAll(l, "\t", "    "), max(v.width-4, 8), true), "\n") {
				lines = append(lines, "    "+h.Line(part))
			}
		}
	}
	for _, line := range p.what.Summary {
		lines = append(lines, indentedWrap(line, v, v.paint.Dim)...)
	}
	if p.what.Note != "" {
		lines = append(lines, indentedWrap(p.what.Note, v, v.paint.Dim)...)
	}
	for _, f := range p.what.Files {
		lines = append(lines, p.change(f, v)...)
	}
	if p.what.Restorable {
		lines = append(lines, indentedWrap(p.what.Loss(v.lang), v, v.paint.Dim)...)
	}
	return lines
}

// indentedWrap is a text in as many lines as it takes.
func indentedWrap(text string, v view, s style.Style) (lines []string) {
	for _, part := range hardWrap(text, v.width-2) {
		lines = append(lines, s.Of("  "+part))
	}
	return lines
}

// change is what would change in a file. Its name is said where the title does not.
func (p *permissionPanel) change(f card.FileDiff, v view) []string {
	var lines []string
	f.Path = p.app.short(f.Path)
	switch head := f.Head(); {
	case f.Protected:
		lines = indentedWrap(head, v, v.paint.Bad)
	case head != "":
		lines = indentedWrap(head, v, v.paint.Dim)
	case len(p.what.Files) > 1, p.call.Ran():
		lines = indentedWrap(visible.Name(f.Path), v, v.paint.Dim)
	}
	for i, hunk := range f.Hunks {
		if i > 0 {
			lines = append(lines, v.paint.Dim.Of("      ⋮"))
		}
		lines = append(lines, diffLines(hunk.Lines, hunk.OldStart, hunk.NewStart, filepath.Base(f.Path), v)...)
	}
	return lines
}

// answers are the choices, or the field that is typed in.
func (p *permissionPanel) answers(v view) []string {
	if p.word != nil {
		label := v.t("Why not, or what instead? (enter sends it)")
		if p.kind == theWord {
			label = p.what.Loss(v.lang) + " " + v.t("Type %s to continue:", safeWord)
		}
		var lines []string
		for _, part := range hardWrap(label+" "+typed(p.word), v.width-2) {
			lines = append(lines, v.paint.Warn.Of("  "+part))
		}
		return append(lines, p.troubles(v)...)
	}
	var lines []string
	for i, c := range p.choices {
		s := v.t(c.text)
		switch c.answer {
		case allowSession:
			s += ": " + ruleText(p.rule(), v)
		case allowAlways:
			s += ": " + v.t("%s in %s", ruleText(p.rule(), v), p.app.short(p.app.where(scopes[p.scope])))
			if v.turned && i == p.at.at {
				s += " " + v.t("(left and right choose where)")
			}
		}
		lines = append(lines, letterOption(v, i == p.at.at, c.letter, s)...)
	}
	return append(lines, p.troubles(v)...)
}

func (p *permissionPanel) troubles(v view) []string {
	if p.problem == "" || !v.turned { // the keys go elsewhere
		return nil
	}
	var lines []string
	for _, part := range hardWrap(visible.Cells(p.problem), v.width-2) {
		lines = append(lines, v.paint.Bad.Of("  "+part))
	}
	return lines
}

// ruleText is a rule for people. In a rule the root of paths is the project, which
// looks like the whole disk.
func ruleText(rule string, v view) string {
	if name, ok := strings.CutSuffix(rule, "(/**)"); ok {
		return v.t("%s anywhere in this folder, %s", visible.Indented(name), visible.Indented(rule))
	}
	return visible.Indented(rule)
}

func (p *permissionPanel) key(k key.Key) bool {
	if p.word != nil {
		return p.typeKey(k)
	}
	if i := slices.IndexFunc(p.choices, func(c choice) bool { return k == key.Key{Rune: c.letter} }); i >= 0 {
		p.at.at, p.problem = i, ""
		if p.choices[i].answer.widens() {
			p.problem = p.app.t("enter confirms it")
			return true
		}
		p.choose(&p.choices[i])
		return true
	}
	p.problem = ""
	switch {
	case k == key.Key{Rune: '/'} && p.searches():
		p.showAll()
		p.app.viewer.asking = true
	case k.Name == key.Left:
		p.scope = (p.scope + len(scopes) - 1) % len(scopes)
	case k.Name == key.Right:
		p.scope = (p.scope + 1) % len(scopes)
	case k.Name == key.Enter && p.at.made():
		p.choose(&p.choices[p.at.at])
	case k.Name == key.Enter:
		p.problem = p.app.t("Nothing is selected: y allows it once, n denies it.")
	case k.Rune == 'o' && k.Ctrl:
		p.showAll()
	case p.scroll.key(k):
	default:
		return p.at.key(k)
	}
	return true
}

// widens reports whether an answer allows more than the call.
func (a answer) widens() bool { return a == allowEdits || a == allowSession || a == allowAlways }

// showAll shows the question on the whole screen.
func (p *permissionPanel) showAll() {
	p.app.openText(p.title(), ansi.Strip(strings.Join(p.body(p.app.view()), "\n"))) // the escapes are ours: its own are visible
	p.app.viewer.end = func() { p.scroll.seen = p.scroll.all }
}

// searches reports whether a slash searches: where not all of the question is on the screen.
func (p *permissionPanel) searches() bool { return p.scroll.long() }

// take selects the answer that was typed into the input box.
func (p *permissionPanel) take(text string, _ bool) bool {
	var letters strings.Builder
	for _, c := range p.choices {
		letters.WriteRune(c.letter)
	}
	return p.at.take(text, letters.String())
}

// choose takes an answer, or asks for the word or the reason that it needs.
func (p *permissionPanel) choose(c *choice) {
	p.selected, p.problem = c, ""
	switch {
	case c.answer < denyCall && !p.scroll.read():
		p.problem = p.app.t("Read it to the end first: page down shows the rest, ctrl+o all of it.")
	case c.answer == denyWhy:
		p.word, p.kind = composer.New(nil), theReason
	case c.answer < denyCall && p.what.Destructive:
		p.word, p.kind = composer.New(nil), theWord
	default:
		p.settle("")
	}
}

// typeKey is a key in the field that is typed in.
func (p *permissionPanel) typeKey(k key.Key) bool {
	if k.Name != key.Enter {
		return p.word.Key(k)
	}
	text := strings.TrimSpace(p.word.Text())
	if p.kind == theWord && text != safeWord {
		p.word, p.problem = nil, p.app.t("The word did not match, so nothing was decided.")
		return true
	}
	p.settle(text)
	return true
}

// paste goes into a reason; the word must be typed.
func (p *permissionPanel) paste(text string) bool {
	if p.word == nil || p.kind != theReason {
		return false
	}
	p.word.Paste(text)
	return true
}

// settle decides.
func (p *permissionPanel) settle(said string) {
	v := tool.Verdict{Behavior: tool.Allow, Reason: "the user allowed it once"}
	switch p.selected.answer {
	case allowEdits:
		v = ask.InMode(acceptEdits, editsAccepted)
	case allowSession:
		v = ask.Always(p.question.Suggestions, "session")
	case allowAlways:
		v = ask.Always(p.question.Suggestions, scopes[p.scope])
	case denyCall, denyWhy:
		v = tool.Verdict{Behavior: tool.Deny, Reason: "the user denied it", Message: ask.Denial(said)}
	}
	p.decide(v)
}
