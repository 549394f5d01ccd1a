package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/vt"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A fakeTalk is a conversation whose events a test makes up.
type fakeTalk struct {
	events chan agent.Event
	tools  *tool.Set

	mu          sync.Mutex
	sent        []string
	prompts     []agent.Prompt
	queue       []agent.Prompt
	mode, model string
	sandbox     string
	statusLine  string
	dir         string // where it works
	theme       string
	editor      string
	language    string // that the settings say
	interrupts  int
	builtins    []string // that were run
	answers     map[string]string
	steps       []checkpoint.Step // of a rewind
	restored    map[string][]string
	home        string
	servers     []mcp.Status
	asked       []string // for completions
	picture     string   // in the clipboard
	copied      []string
	foreground  bool // a call waits for a command
	backgrounds int
	past        []session.Entry
	sessions    []session.Info
	overviews   map[string]harness.Overview
	held        []trust.Item
	trusted     []trust.Item
	closed      bool
	running     string
	kept        *harness.Kept
	lost        string
}

func (f *fakeTalk) Image(context.Context) ([]byte, error) {
	if f.picture == "" {
		return nil, errors.New("could not paste an image: wl-paste is needed for that; install wl-clipboard")
	}
	return []byte(f.picture), nil
}
func (f *fakeTalk) Copy(_ context.Context, text string) error {
	f.copied = append(f.copied, text)
	return nil
}

func newFakeTalk() *fakeTalk {
	return &fakeTalk{events: make(chan agent.Event), mode: "default", model: "scripted-1"}
}

// shown is the conversation as the screen knows it.
func (f *fakeTalk) shown() *Talk {
	return &Talk{Driver: f, Turns: f, State: f, Input: f, Rules: f, Past: f}
}

func (f *fakeTalk) Run(ctx context.Context) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		for {
			select {
			case ev := <-f.events:
				if !yield(ev, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// Say sends prompts as they are, or as what a driver would make of them, and answers commands.
func (f *fakeTalk) Say(m drive.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := promptText(m.Content)
	name, args, isCommand := command.Line(text)
	if isCommand && name != "review" {
		f.builtins = append(f.builtins, strings.TrimSpace(name+" "+args))
		answer := drive.CommandDone{Prompt: m.Prompt, Command: name, Text: cmp.Or(f.answers[name], "answer to "+name)}
		go func() { f.events <- answer }()
		return
	}
	if isCommand {
		m.Said, m.Content = text, []model.Block{model.TextOf("Review all of it, in twenty steps.")}
	}
	if strings.Contains(text, "@main.go") {
		m.Said, m.Content = text, append(m.Content, model.TextOf("<file>package main</file>"))
	}
	for range m.Images {
		m.Content = append(m.Content, model.TextOf("an image"))
	}
	f.sent = append(f.sent, promptText(m.Content))
	f.prompts = append(f.prompts, m.Prompt)
}
func (f *fakeTalk) Queued() []agent.Prompt { return f.queue }
func (f *fakeTalk) Busy() bool             { return len(f.queue) > 0 }
func (f *fakeTalk) TakeBack(n int) []agent.Prompt {
	taken := f.queue[max(0, len(f.queue)-n):]
	f.queue = f.queue[:len(f.queue)-len(taken)]
	return taken
}
func (f *fakeTalk) Interrupt() bool { f.interrupts++; return true }
func (f *fakeTalk) SetMode(m string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode = m
	return nil
}
func (f *fakeTalk) Speak(*lang.Catalogue) {}
func (f *fakeTalk) Resolve(m string) string {
	return "claude-" + m
}
func (f *fakeTalk) ContextUsage() agent.ContextUsage {
	return agent.ContextUsage{Model: f.model, Total: 50_000, Window: 200_000}
}
func (f *fakeTalk) Usage() map[string]agent.ModelUsage {
	return map[string]agent.ModelUsage{"m": {Cost: 0.25}}
}
func (f *fakeTalk) Session() string                        { return "5e55" }
func (f *fakeTalk) Dir() string                            { return cmp.Or(f.dir, "/nowhere/project") }
func (f *fakeTalk) StopTask(context.Context, string) error { return nil }
func (f *fakeTalk) KeepImage(png []byte) (string, error) {
	path := filepath.Join(f.home, "kept.png")
	return path, os.WriteFile(path, png, 0o600)
}
func (f *fakeTalk) Lost() string                             { return f.lost }
func (f *fakeTalk) Markdown(context.Context) (string, error) { return "## user\n\nall of it", nil }
func (f *fakeTalk) Arguments(_ context.Context, command string, words []string, typed string) []string {
	f.mu.Lock()
	f.asked = append(f.asked, fmt.Sprintf("%s %q %q", command, words, typed))
	f.mu.Unlock()
	if command == "cost" && strings.HasPrefix("yesterday", typed) {
		return []string{"yesterday"}
	}
	return nil
}
func (f *fakeTalk) CompleteResource(_ context.Context, typed string) []string {
	if strings.HasPrefix("hub:db://users", typed) {
		return []string{"hub:db://users"}
	}
	return nil
}
func (f *fakeTalk) Servers() []mcp.Status { return f.servers }
func (f *fakeTalk) NoteFiles() []NoteFile {
	return []NoteFile{{"project", "/nowhere/project/AGENTS.md", true}, {"user", "/home/me/.haft/HAFT.md", false}}
}
func (f *fakeTalk) Instructions() []string {
	return []string{"/nowhere/project/AGENTS.md", "/nowhere/project/docs/more.md"}
}
func (f *fakeTalk) Rules() []RuleLine {
	return []RuleLine{{"deny", "Read(./secret)", "managed settings", "managed"}, {"allow", "Bash(make:*)", ".claude/settings.local.json:3", "local"}}
}
func (f *fakeTalk) Settings() []SettingLine {
	knob := func(key, takes string, oneOf ...string) settings.Knob {
		return settings.Knob{Key: key, Takes: takes, OneOf: oneOf}
	}
	return []SettingLine{
		{knob("model", "a string"), "opus", "~/.claude/settings.json:2"}, {knob("preview", "one of off, ask", "off", "ask"), "", ""},
		{knob("uiLanguage", "one of en, zh", "en", "zh"), f.language, ""}, {knob("theme", "a string"), f.theme, ""},
		{knob("editorMode", "one of normal, vim", "normal", "vim"), f.editor, ""},
	}
}
func (f *fakeTalk) StatusLine() (command string, told StatusFacts) {
	return f.statusLine, StatusFacts{Journal: "/j.jsonl", Style: "Learning", Effort: "high", AddDirs: []string{"/more"}}
}
func (f *fakeTalk) Background(string) bool { f.backgrounds++; return f.foreground }
func (f *fakeTalk) Close(context.Context) ([]agent.Notice, error) {
	f.closed = true
	return nil, nil
}
func (f *fakeTalk) Sandbox() string     { return f.sandbox }
func (f *fakeTalk) Running() string     { return f.running }
func (f *fakeTalk) Keep() *harness.Kept { return f.kept }
func (f *fakeTalk) Mode() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mode
}
func (f *fakeTalk) Tools() *tool.Set { return f.tools }
func (f *fakeTalk) Commands() []Command {
	return []Command{{"help", "Show the available commands", ""}, {"cost", "Show the cost", ""}}
}
func (f *fakeTalk) Files(context.Context) ([]string, error) {
	return []string{"main.go", "tui/app.go"}, nil
}
func (f *fakeTalk) Call(_ context.Context, name string, input any) (tool.Result, error) {
	return tool.Text("ran " + name), nil
}
func (f *fakeTalk) Where(scope string) string             { return ".claude/settings." + scope + ".json" }
func (f *fakeTalk) CheckRule(behavior, rule string) error { return rules{}.CheckRule(behavior, rule) }
func (f *fakeTalk) Resolved(string) string                { return "" }
func (f *fakeTalk) Said(context.Context) []session.Entry  { return f.past }
func (f *fakeTalk) List(all bool) ([]session.Info, error) {
	return slices.DeleteFunc(slices.Clone(f.sessions), func(s session.Info) bool { return !all && s.Cwd != "" }), nil
}
func (f *fakeTalk) Look(_ context.Context, s session.Info) (harness.Overview, error) {
	return f.overviews[s.ID], nil
}

func (f *fakeTalk) Restored(context.Context) (map[string][]string, error) { return f.restored, nil }
func (f *fakeTalk) PlanRewind(context.Context, string) (*checkpoint.Plan, error) {
	return &checkpoint.Plan{Steps: f.steps}, nil
}
func (f *fakeTalk) Rewind(context.Context, *checkpoint.Plan, bool) (string, error) {
	return "undo", nil
}
func (f *fakeTalk) Held() []trust.Item { return f.held }
func (f *fakeTalk) Trust(_ context.Context, items []trust.Item) error {
	f.trusted, f.held = items, nil
	return nil
}

// A bed is an app in front of an emulated terminal. It lives in a synctest bubble.
type bed struct {
	t      *testing.T
	talk   *fakeTalk
	app    *app
	term   *vt.Emulator
	mu     sync.Mutex // guards term: the app draws when its time comes, and not when the test looks
	keys   *io.PipeWriter
	sizes  chan Size
	opened []Opening
	cancel context.CancelFunc
	done   chan struct{}
}

func newBed(t *testing.T, size Size, p style.Palette) *bed {
	b := &bed{t: t, talk: newFakeTalk(), term: vt.NewEmulator(size.Width, size.Height), sizes: make(chan Size), done: make(chan struct{})}
	in, keys := io.Pipe()
	b.keys = keys
	ctx, cancel := context.WithCancel(t.Context())
	b.cancel = cancel
	b.app = newApp(ctx, &Options{
		In: in, Out: lockedTerm{b}, Size: size, Resized: b.sizes, Palette: p, Version: "v0", Sessions: b.talk, Clipboard: b.talk,
		Open: func(_ context.Context, o Opening, _ Person) (*Talk, error) {
			b.opened = append(b.opened, o)
			return b.talk.shown(), nil
		},
	})
	go func() {
		defer close(b.done)
		b.app.begin()
		go b.app.read(in)
		b.app.loop()
		b.app.end()
	}()
	synctest.Wait()
	b.pause(frame)
	return b
}

// A lockedTerm is the terminal as the app writes to it.
type lockedTerm struct{ *bed }

func (l lockedTerm) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term.Write(p)
}

// close ends the app.
func (b *bed) close() {
	b.keys.Close()
	<-b.done
	b.cancel()
}

// pause lets time pass, and everything that is due happen.
func (b *bed) pause(d time.Duration) {
	synctest.Wait()
	time.Sleep(d)
	synctest.Wait()
}

// type_ types, and waits until it is drawn.
func (b *bed) type_(s string) {
	b.t.Helper()
	if _, err := io.WriteString(b.keys, s); err != nil {
		b.t.Fatal(err)
	}
	b.pause(3 * frame)
}

// tell makes events happen.
func (b *bed) tell(events ...agent.Event) {
	for _, ev := range events {
		b.talk.events <- ev
	}
	b.pause(2 * frame)
}

// ask asks about a call, in the background.
func (b *bed) ask(ctx context.Context, c tool.Case, q tool.Verdict) <-chan tool.Verdict {
	answer := make(chan tool.Verdict, 1)
	go func() {
		if v, err := (person{b.app}).Ask(ctx, c, q); err == nil {
			answer <- v
		}
	}()
	return answer
}

// screen is what a person sees, without blanks at the ends of lines.
func (b *bed) screen() string { return b.shown(false) }

// everything is the scrollback and the screen.
func (b *bed) everything() string { return b.shown(true) }

func (b *bed) shown(scrollback bool) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return shown(b.term, scrollback)
}

func shown(term *vt.Emulator, scrollback bool) string {
	var lines []string
	row := func(cell func(x int) string) {
		var l strings.Builder
		for x := 0; x < term.Width(); x++ {
			l.WriteString(cell(x))
		}
		lines = append(lines, strings.TrimRight(l.String(), " "))
	}
	if scrollback {
		for y := range term.ScrollbackLen() {
			row(func(x int) string {
				if c := term.ScrollbackCellAt(x, y); c != nil {
					return c.Content
				}
				return " "
			})
		}
	}
	for y := range term.Height() {
		row(func(x int) string {
			if c := term.CellAt(x, y); c != nil {
				return c.Content
			}
			return " "
		})
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}
