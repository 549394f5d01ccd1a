package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/tool"
)

func (a *app) handle(events []key.Event) {
	for _, ev := range events {
		switch ev := ev.(type) {
		case key.Key:
			a.key(ev)
			a.lastKey = time.Now()
		case key.Paste:
			a.paste(string(ev))
			a.lastKey = time.Now()
		case key.Focus:
			a.focus(bool(ev))
		case key.Light:
			a.light = bool(ev)
			if a.light && a.opts.Light != nil && !a.themed {
				a.paint = *a.opts.Light
			}
		}
		a.dirty = true
		if a.done {
			return
		}
	}
}

// focus is told when the terminal's window gets or loses the focus. A question
// does not stay turned to while the person is elsewhere.
func (a *app) focus(has bool) {
	if a.dialog != nil && !has {
		a.dialog.turnAway()
	}
	a.lastKey = time.Now()
}

// paste adds pasted text to what is written, whatever is on the screen: only a
// field that a person has turned to takes it instead.
func (a *app) paste(text string) {
	if a.dialog != nil && a.dialog.focused {
		if f, ok := a.dialog.panel.(interface{ paste(string) bool }); ok && f.paste(text) {
			return
		}
		a.dialog.turnAway()
	}
	if a.viewer == nil && !a.dropped(text) {
		a.write.Paste(text)
		a.complete()
	}
}

// key does what a key means at this moment.
func (a *app) key(k key.Key) {
	a.hint = a.t("")
	switch {
	case a.viewer != nil:
		a.viewerKey(k)
		return
	case a.dialog != nil && a.dialogKey(k):
		return
	case a.menu != nil && a.menuKey(k):
		return
	}
	if a.write.VimKey(k) {
		return
	}
	if k == (key.Key{Rune: '?'}) && !a.write.Empty() {
		a.write.Key(k)
		return
	}
	if act := actOf(k); act != nil {
		act(a)
		return
	}
	if a.write.Key(k) {
		a.complete()
	}
}

// bindings are what keys do at the prompt, besides writing.
func bindings() []binding {
	return []binding{
		{[]string{"enter"}, "send", (*app).enter},
		{[]string{"up", "ctrl+p"}, "move up, then through your earlier prompts; while haft works, take back a queued message", (*app).up},
		{[]string{"down", "ctrl+n"}, "move down, then to your later prompts", func(a *app) { a.write.Down() }},
		{[]string{"tab"}, "complete; on an empty line, accept the suggestion; with a question open, move to it", (*app).tab},
		{[]string{"shift+tab"}, "change the permission mode: ask first, allow edits, plan only", (*app).nextMode},
		{[]string{"esc"}, "interrupt and take back queued messages; twice: go back to an earlier message", (*app).escape},
		{[]string{"ctrl+c"}, "clear the input; if it is empty, interrupt; twice: quit", (*app).stop},
		{[]string{"ctrl+d"}, "leave", (*app).leave},
		{[]string{"ctrl+o"}, "show the transcript with calls and thoughts in full; / searches it", (*app).openTranscript},
		{[]string{"ctrl+g"}, "write in your editor (VISUAL, EDITOR)", (*app).edit},
		{[]string{"ctrl+b"}, "move the running command to the background; otherwise list what runs there", (*app).background},
		{[]string{"ctrl+t"}, "show or hide the todos", (*app).toggleTodos},
		{[]string{"ctrl+v"}, "attach the image in the clipboard", (*app).pasteImage},
		{[]string{"ctrl+r"}, "search your earlier prompts", (*app).searchHistory},
		{[]string{"ctrl+l"}, "clear the screen; its contents stay in the scrollback", (*app).redraw},
		{[]string{"ctrl+z"}, "suspend haft; fg brings it back", (*app).suspend},
		{[]string{"?"}, "on an empty line: show these keys", (*app).showKeys},
	}
}

// actOf is what a key does at the prompt; nil for one that writes or edits.
func actOf(k key.Key) func(*app) {
	name := k.String()
	for _, b := range bindings() {
		if slices.Contains(b.keys, name) {
			return b.act
		}
	}
	return nil
}

// tab completes, or takes what is suggested.
func (a *app) tab() {
	if a.write.Empty() && a.advice != "" && a.working == nil {
		a.write.Set(a.advice)
		return
	}
	a.complete()
}

// searchHistory looks for something that the person wrote before.
func (a *app) searchHistory() {
	var items []pick
	seen := map[string]bool{}
	for _, text := range slices.Backward(a.write.Remembered()) {
		if !seen[text] {
			seen[text] = true
			items = append(items, pick{value: text, text: strings.Join(strings.Fields(text), " ")})
		}
	}
	a.pop(&picker{title: a.t("Your earlier prompts:"), items: items, chooses: "inserts it", choose: func(p pick) {
		a.closeOwn()
		a.write.Set(p.value)
	}})
}

// up goes to an older text, or takes back what waits to be heard.
func (a *app) up() {
	if a.write.Empty() && a.working != nil {
		if waiting := a.takeBack(1); waiting != "" {
			a.write.Set(waiting)
			return
		}
	}
	a.write.Up()
}

// takeBack takes back prompts that wait to be heard, at most n of them, the newest.
func (a *app) takeBack(n int) string {
	if a.talk == nil {
		return ""
	}
	var texts []string
	for _, p := range a.talk.Driver.TakeBack(n) {
		texts = append(texts, typedText(p))
	}
	return strings.Join(texts, "\n\n")
}

// enter sends what is written; after a backslash it begins a line.
func (a *app) enter() {
	if before := a.write.Before(); strings.HasSuffix(before, "\\") {
		a.write.Replace(1, "\n")
		return
	}
	text := strings.TrimSpace(a.write.Filled())
	if text == "" {
		return
	}
	if a.dialog.holds(text, time.Now()) {
		return
	}
	a.write.Take()
	a.write.Remember(text)
	a.opts.History.Add(text)
	a.submit(text)
}

// twice is how close two keys are that are meant as one.
const twice = 800 * time.Millisecond

// escape interrupts, and the second time in a row goes back to an earlier message.
func (a *app) escape() {
	again := time.Since(a.lastEsc) < twice
	a.lastEsc = time.Now()
	switch {
	case a.working != nil && a.interrupt():
	case again && a.write.Empty():
		a.lastEsc = time.Time{}
		a.rewind()
	case again:
		a.write.Take()
	default:
		a.hint = a.t("esc again goes back to an earlier message")
	}
}

func (a *app) interrupt() bool {
	if a.talk == nil {
		return false
	}
	// Who interrupts wants to decide anew: what waits would begin at once.
	waiting := a.takeBack(math.MaxInt)
	if waiting != "" {
		a.write.Set(strings.TrimLeft(a.write.Filled()+"\n\n"+waiting, "\n"))
	}
	stopped := a.stopCommands()
	if !a.talk.Driver.Interrupt() {
		return waiting != "" || stopped
	}
	if a.working != nil {
		a.working.stops = true
	}
	return true
}

// stop is ctrl+c: it clears, interrupts, and the second time leaves.
func (a *app) stop() {
	if !a.write.Empty() {
		a.write.Remember(a.write.Take())
		a.menu = nil
		return
	}
	again := time.Since(a.lastStop) < 2*twice
	a.lastStop = time.Now()
	if again {
		a.done = true
		return
	}
	if a.working != nil {
		a.interrupt()
	}
	a.hint = a.t("ctrl+c again quits")
}

func (a *app) leave() {
	if a.write.Empty() {
		a.done = true
	} else {
		a.write.Key(key.Key{Name: key.Delete})
	}
}

func (a *app) nextMode() {
	if a.talk == nil {
		return
	}
	mode, ok := cycle[a.talk.Rules.Mode()]
	if !ok {
		mode = "default"
	}
	if err := a.setMode(mode); err != nil {
		a.hint = a.lang.Error(err)
	}
}

// editsAccepted is why a call may run that waited when the mode was changed.
const editsAccepted = "the user allowed all edits in the project"

// setMode changes the permission mode, and answers the questions that it settles.
func (a *app) setMode(mode string) error {
	if err := a.talk.Driver.SetMode(mode); err != nil {
		return err
	}
	a.status.mode = mode
	for _, q := range slices.Clone(a.asks) {
		if p, ok := q.panel.(*permissionPanel); ok && !q.over && p.question.AllowedIn == mode {
			p.decide(tool.Verdict{Behavior: tool.Allow, Reason: editsAccepted})
		}
	}
	return nil
}

// redraw begins on an empty screen. What was on it goes into the scrollback, which
// not every terminal does by itself when it is told to erase.
func (a *app) redraw() {
	_, height := a.screen.Size()
	a.screen.Leave() // an error is seen at the next frame
	fmt.Fprintf(a.opts.Out, "\x1b[%d;1H%s\x1b[H", height, strings.Repeat("\n", height))
	a.screen.Forget()
}

// lend gives the terminal to somebody else while f runs.
func (a *app) lend(f func() error) error {
	a.switchScreen(false)
	if err := a.screen.Leave(); err != nil {
		return err
	}
	a.opts.Out.Write([]byte(leaveModes)) // an error is seen at the next frame
	err := f()
	a.opts.Out.Write([]byte(enterModes)) // as above
	a.screen.Forget()
	return err
}

// suspend lets the person go back to their shell for a while.
func (a *app) suspend() {
	if a.opts.Suspend == nil {
		return
	}
	if err := a.lend(a.opts.Suspend); err != nil {
		a.hint = a.lang.Error(err)
	}
}

// edit lets the person write in their own editor.
func (a *app) edit() {
	if a.opts.Edit == nil {
		a.hint = a.t("no editor is set: set VISUAL or EDITOR")
		return
	}
	var text string
	err := a.lend(func() (err error) {
		text, err = a.opts.Edit(a.write.Filled())
		return err
	})
	if err != nil {
		a.hint = a.t("could not edit: %s", err)
		return
	}
	a.write.Take()
	a.write.Set(strings.TrimRight(text, "\n"))
}
