package tui

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/front/tui/screen"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// A display is the terminal: what was printed on it, what is over it, and in which colours and words.
type display struct {
	opts    Options
	ctx     context.Context
	paint   style.Palette
	lang    *lang.Catalogue
	do      chan func() // what other goroutines want done in this one
	screen  *screen.Screen
	show    transcript
	apart   bool     // the alternate screen is shown
	recent  []string // what went into the scrollback last, as many lines as a screen has
	light   bool     // the terminal says that its background is light
	themed  bool     // the user has chosen the colours
	dirty   bool
	hint    string   // in place of the status line, until the next key
	viewer  *viewer  // nil for none
	records []record // what it shows
}

func newDisplay(ctx context.Context, o *Options) display {
	d := display{
		opts: *o, ctx: ctx, paint: o.Palette, lang: o.Lang, screen: screen.New(o.Out, o.Size.Width, o.Size.Height),
		do: make(chan func()), dirty: true,
	}
	if d.opts.History == nil {
		d.opts.History = noHistory{}
	}
	return d
}

// flushFinished puts everything into the scrollback, at the end.
func (a *display) flushFinished() {
	if lines := a.show.finished(a.view()); len(lines) > 0 {
		a.screen.Draw(lines, nil, screen.Cursor{}) // it is the last frame: nobody hears of an error
	}
}

// t is a message in the user's language.
func (a *display) t(text lang.Text, args ...any) string { return a.lang.T(text, args...) }

// later has something done in the goroutine of the app.
func (a *display) later(f func()) {
	select {
	case a.do <- f:
	case <-a.ctx.Done():
	}
}

func (a *display) resize(s Size) {
	a.screen.Resize(s.Width, s.Height)
	if a.apart { // terminals differ in what they cut off, and in where that leaves the cursor
		a.opts.Out.Write([]byte("\x1b[H")) // an error is seen at the next frame
		a.screen.Forget()
	}
	a.show.resize(a.view())
	a.dirty = true
}

func (a *display) note(text string) { a.show.add(&note{text: text, style: warning}) }

// attract draws the attention of a user who looks elsewhere: terminals that can show a
// notification of the desktop do, and all ring.
func (a *display) attract(text string) {
	said := ""
	if a.opts.Notify != nil {
		said = a.opts.Notify(text)
	}
	a.opts.Out.Write([]byte(said + "\a")) // an error is seen at the next frame
}

// switchScreen goes to the alternate screen or back. When a window shrinks, terminals push
// what no longer fits into the scrollback, where it could never be erased; from the
// alternate screen they push nothing. So everything that may fill the screen is drawn there.
func (a *display) switchScreen(alternate bool) {
	if a.apart == alternate {
		return
	}
	a.screen.Leave() // an error is seen at the next frame
	modes := "\x1b[?1049l"
	if alternate {
		modes = "\x1b[?1049h\x1b[H"
	}
	a.opts.Out.Write([]byte(modes))
	a.screen.Forget()
	a.apart = alternate
}

// scrolled returns the lines that go into the scrollback with this frame. On the alternate
// screen they wait.
func (a *display) scrolled(v view) []string {
	if a.apart {
		return nil
	}
	lines := a.show.finished(v)
	a.recent = append(a.recent, lines...)
	a.recent = a.recent[max(len(a.recent)-v.height, 0):]
	return lines
}

// copyAnswer puts the last answer into the clipboard.
func (a *display) copyAnswer(string) {
	for _, r := range slices.Backward(a.records) {
		if r.answer {
			a.copyText(a.t("the last answer"), strings.TrimSpace(r.text))
			return
		}
	}
	a.hint = a.t("there is no answer to copy yet")
}

// copyText puts a text into the clipboard: by the terminal, which also works from another
// machine, and by a program of the desktop, for terminals that do not know how.
func (a *display) copyText(what, text string) {
	byTerminal := len(text) <= maxOSC52
	if byTerminal {
		a.opts.Out.Write([]byte("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a")) // an error is seen at the next frame
	}
	clipboard := a.opts.Clipboard
	go func() {
		var err error
		if clipboard != nil {
			ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
			defer cancel()
			err = clipboard.Copy(ctx, text)
		}
		a.later(func() {
			a.dirty = true
			if err != nil && !byTerminal {
				a.note(a.t("Could not copy: the text is too long for the terminal's clipboard, and %v.", err))
				return
			}
			a.show.add(&note{text: a.t("Copied %s to the clipboard (%s).", what, a.lang.Count(len([]rune(text)), "character")), quiet: true})
		})
	}()
}

// noAnswer says that what was typed is no answer, so that nothing is typed in vain.
func (a *display) noAnswer(k key.Key) bool {
	if !k.Writes() {
		return false
	}
	a.hint = a.t("%s is not an answer here; esc goes back to the input box", string(k.Rune))
	return true
}

// takeSize takes in a size that the terminal has already and was not reported yet.
func (a *display) takeSize() {
	if a.opts.Now == nil {
		return
	}
	width, height := a.screen.Size()
	if now := a.opts.Now(); now != (Size{width, height}) {
		a.resize(now)
	}
}

// whole lets ctrl+o show all that choices are about, where they have nothing better.
func (a *display) whole(c *choices) *choices {
	if c.full == nil {
		c.full = func() { a.openHelp(c.title, strings.Join(c.body, "\n")) }
	}
	return c
}

// redraw begins on an empty screen. What was on it goes into the scrollback, which
// not every terminal does by itself when it is told to erase.
func (a *display) redraw() {
	_, height := a.screen.Size()
	a.screen.Leave() // an error is seen at the next frame
	fmt.Fprintf(a.opts.Out, "\x1b[%d;1H%s\x1b[H", height, strings.Repeat("\n", height))
	a.screen.Forget()
}

// lend gives the terminal to somebody else while f runs.
func (a *display) lend(f func() error) error {
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
func (a *display) suspend() {
	if a.opts.Suspend == nil {
		return
	}
	if err := a.lend(a.opts.Suspend); err != nil {
		a.hint = a.lang.Error(err)
	}
}

// showKeys shows what keys do.
func (a *display) showKeys() { a.openHelp(a.t("keys"), a.keysHelp()) }

func (a *display) keysHelp() string {
	var b strings.Builder
	for i, g := range keyTable() {
		if i > 0 {
			b.WriteByte('\n')
		}
		width := 0
		for _, r := range g.rows {
			width = max(width, len(r.named()))
		}
		fmt.Fprintf(&b, "%s\n", a.t(g.title))
		for _, r := range g.rows {
			fmt.Fprintf(&b, "  %-*s  %s\n", width, r.named(), a.t(r.does))
		}
	}
	b.WriteString("\n" + a.t("/ lists commands · @ mentions files · ! runs a shell command · # saves a note for later sessions"))
	return b.String()
}

// keyTable is all of it: the help and docs/terminal.md are written from it.
func keyTable() []keyGroup {
	var edits []binding
	for _, e := range composer.Edits() {
		edits = append(edits, binding{keys: e.Keys, does: e.Does})
	}
	var vim []binding
	for _, k := range composer.VimKeys() {
		vim = append(vim, binding{keys: k.Keys, does: k.Does})
	}
	return []keyGroup{{"At the prompt", bindings()}, {"While you write", edits}, {"In a full-screen text", viewerKeys()}, {"With vim keys (/vim), after esc", vim}}
}

func (a *display) stateText(s mcp.Status) string {
	if s.State == mcp.NeedsAuth {
		return a.t("needs a login")
	}
	if s.Unapproved {
		return a.t("not approved")
	}
	return answers.State(a.lang, string(s.State))
}

// serverText is all that is known of a server.
func (a *display) serverText(s mcp.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n", s.Name, a.stateText(s), s.Type)
	if s.Info != nil {
		fmt.Fprintf(&b, "%s\n", a.t("%s %s, protocol %s", cmp.Or(s.Info.Title, s.Info.Name), s.Info.Version, s.Protocol))
	}
	for _, l := range []struct {
		title lang.Text
		text  string
	}{
		{"From", s.Source}, {"Error", s.Error}, {"Instructions", s.Instructions}, {"Steps", strings.Join(s.Steps, "\n")}, {"Standard error", strings.Join(s.Stderr, "\n")},
	} {
		if l.text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", a.t(l.title), l.text)
		}
	}
	fmt.Fprintf(&b, "\n%s:\n", a.lang.Count(len(s.Tools), "tool"))
	for _, t := range s.Tools {
		fmt.Fprintf(&b, "  %s\n", cmp.Or(t.Offered, a.t("%s (not offered: %s)", t.Name, t.Disabled)))
	}
	return b.String()
}

// ago is a time in the past for people.
func (a *display) ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return a.t("just now")
	case d < time.Hour:
		return a.t("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return a.t("%d h ago", int(d.Hours()))
	}
	return a.t("%d days ago", int(d.Hours()/24))
}

// answered shows the answer to a command below the command itself, so that it is seen what
// the answer is about.
func (a *display) answered(ev drive.CommandDone) {
	if errors.Is(ev.Err, drive.ErrStopped) {
		return
	}
	a.show.add(&saidBlock{text: promptText(ev.Prompt.Content)})
	text := ev.Text
	if ev.Err != nil {
		text = a.lang.Error(ev.Err)
	}
	a.show.add(&note{text: text, quiet: ev.Err == nil})
}

// bounded keeps the beginning and the end of a text.
func (a *display) bounded(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(all) <= lines {
		return strings.Join(all, "\n")
	}
	head, tail := all[:lines/2], all[len(all)-lines/2:]
	return strings.Join(head, "\n") + "\n… " + a.lang.Count(len(all)-lines, "more line") + " …\n" + strings.Join(tail, "\n")
}

// ended tells that something in the background is over.
func (a *display) ended(t agent.Task) *note {
	took := ""
	if !t.Ended.IsZero() && t.Ended.After(t.Started) {
		took = " " + a.t("after %s", seconds(t.Ended.Sub(t.Started)))
	}
	n := &note{text: "○ " + a.t("%s: %s%s, in the background", taskName(t), answers.State(a.lang, string(t.Status)), took), quiet: true}
	if t.Status == "failed" {
		n.style = failure
	}
	return n
}

// agentSteps makes an agent's journal readable: what it said and what it called.
func (a *display) agentSteps(journal string) string {
	var b strings.Builder
	for l := range strings.SplitSeq(journal, "\n") {
		var e struct {
			Message struct {
				Role    model.Role    `json:"role"`
				Content []model.Block `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal([]byte(l), &e) != nil {
			continue
		}
		for _, block := range e.Message.Content {
			switch {
			case block.Type == model.ToolUse:
				fmt.Fprintf(&b, "● %s %s\n", block.Name, block.Input)
			case block.Type == model.ToolResult:
				fmt.Fprintf(&b, "%s\n\n", a.bounded(tool.Result{Content: block.Content}.Text(), 10))
			case block.Type == model.Text && e.Message.Role == model.Assistant:
				fmt.Fprintf(&b, "%s\n\n", block.Text)
			case harness.Typed([]model.Block{block}) != "":
				fmt.Fprintf(&b, "› %s\n\n", block.Text)
			}
		}
	}
	return b.String()
}

// terminalSetup explains how shift+enter and the rest work in this terminal.
func (a *display) terminalSetup(getenv func(string) string) string {
	program, term := strings.ToLower(getenv("TERM_PROGRAM")), getenv("TERM")
	var how lang.Text = "If shift+enter sends the prompt, your terminal does not distinguish it from enter. Map it to send \\n (hex 0a) in the terminal's settings."
	lines := "" // to be copied
	switch {
	case getenv("TMUX") != "":
		how = "In tmux, put these lines into ~/.tmux.conf and run 'tmux source ~/.tmux.conf':"
		lines = "\n  set -s extended-keys on\n  set -as terminal-features 'xterm*:extkeys'\n  set -g focus-events on\n  set -s set-clipboard on"
	case program == "ghostty" || program == "wezterm" || program == "kitty" || strings.Contains(term, "kitty") || strings.HasPrefix(term, "foot"):
		how = "shift+enter already starts a new line here. (WezTerm: set enable_kitty_keyboard = true.)"
	case program == "vscode":
		how = "In VS Code, Cursor and Windsurf, add this to keybindings.json (Preferences: Open Keyboard Shortcuts (JSON)):"
		lines = "\n  " + `{"key": "shift+enter", "command": "workbench.action.terminal.sendSequence", "args": {"text": "\u001b\r"}, "when": "terminalFocus"}`
	case program == "iterm.app":
		how = "In iTerm2: Settings > Profiles > Keys > General > Report modifiers using CSI u. For /copy: Settings > General > Selection > Applications in terminal may access clipboard."
	case program == "apple_terminal":
		how = "In Terminal: Settings > Profiles > Keyboard > Use Option as Meta key; then option+enter starts a new line."
	case getenv("WT_SESSION") != "":
		how = "In Windows Terminal, add this to \"actions\" in settings.json:"
		lines = "\n  " + `{"command": {"action": "sendInput", "input": "\n"}, "keys": "shift+enter"}`
	}
	return a.t(how) + lines + "\n" + a.t("In every terminal, alt+enter, ctrl+j, or \\ before enter starts a new line.") +
		"\n" + a.t("HAFT_THEME and NO_COLOR choose the colours; CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1 leaves the window's title alone.")
}

// useTheme draws in the colours of a theme from now on. It reports false for one that does
// not exist.
func (a *display) useTheme(name string) bool {
	for _, t := range themes {
		if string(t.name) != name {
			continue
		}
		if t.name == style.Auto {
			a.paint = a.opts.Palette
			if a.light && a.opts.Light != nil {
				a.paint = *a.opts.Light
			}
			a.themed = false
			return true
		}
		a.paint, a.themed = style.Of(t.name).Fine(os.Getenv), true
		return true
	}
	return false
}

func (a *display) view() view {
	w, h := a.screen.Size()
	return view{width: w, height: h, paint: a.paint, lang: a.lang, now: time.Now()}
}

func (a *display) record(title lang.Text, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if len(text) > maxRecord {
		text = text[:maxRecord/2] + "\n…\n" + text[len(text)-maxRecord/2:]
	}
	if len(a.records) >= maxRecords {
		a.records = a.records[1:]
	}
	a.records = append(a.records, record{a.t(title), text, title == answerTitle})
}

// openTranscript shows what was said, called and thought in full, the newest at the end.
func (a *display) openTranscript() {
	if len(a.records) == 0 {
		a.hint = a.t("there are no messages yet")
		return
	}
	text := slices.Clone(a.records)
	for i := range text {
		text[i].text = strings.TrimRight(ansi.Strip(text[i].text), "\n") // colours of programs are no news
	}
	a.viewer = &viewer{title: a.t("transcript"), text: text, top: 1 << 30}
}

// openText shows a text, with every escape in it made visible.
func (a *display) openText(title, text string) {
	a.viewer = &viewer{title: title, text: []record{{text: text}}}
}

// openHelp shows a text of haft's own.
func (a *display) openHelp(title, text string) {
	a.openText(title, text)
	a.viewer.prose = true
}

// viewerKey gives a key to the viewer, which it may close.
func (a *display) viewerKey(k key.Key) {
	if a.viewer.key(k, a.view()) {
		a.viewer = nil
	}
}

// maxOSC52 is how much is sent to the terminal for its clipboard: terminals drop more.
const maxOSC52 = 74_000
