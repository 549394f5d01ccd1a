package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/headless"
	"github.com/haftdev/haft/internal/lang"
	"github.com/haftdev/haft/internal/plain"
	"github.com/haftdev/haft/internal/trust"
	"github.com/haftdev/haft/internal/tui"
	"github.com/haftdev/haft/internal/tui/style"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/workspace"
)

// interact opens the screen.
func (f *converseFlags) interact(c *cobra.Command, args []string) error {
	opts, err := f.options(c.Flags())
	if err != nil {
		return err
	}
	ctx := c.Context()
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	words, err := f.wordsFor("")
	if err != nil {
		return err
	}
	choose := c.Flags().Changed("resume") && f.Resume == ""
	if f.plain || os.Getenv("TERM") == "dumb" {
		if choose {
			if err := f.chooseSession(ctx, tui.Kept(dir)); err != nil {
				return err
			}
		}
		return f.interactPlain(ctx, opts, args)
	}
	term, err := tui.OpenTerminal(f.In.(*os.File), f.Out.(*os.File))
	if err != nil {
		return err
	}
	defer term.Close()
	background := style.Detect(os.Getenv)
	var light *style.Palette
	if background == style.Dark && os.Getenv("HAFT_THEME") == "" {
		p := style.Of(style.Light)
		light = &p
	}
	toolsOn, toolsDir := "", ""
	if host := opts.Harness.ToolHost; host != nil {
		toolsOn, toolsDir = host.Machine(), host.Dir
	}
	return tui.Run(ctx, &tui.Options{
		ToolsOn: toolsOn, ToolsDir: toolsDir,
		In: term, Out: term, Size: term.Size(), Resized: term.Resized(ctx), Now: term.Size,
		Palette: style.Of(background).Fine(os.Getenv), Light: light, Lang: words, FixedLang: f.Streams.lang.said != "", FixedTheme: os.Getenv("HAFT_THEME") != "" || background == style.Plain, Version: version(), Edit: term.Edit, EditFile: term.EditFile, Clipboard: tui.Desktop{}, Login: loginFromScreen, Alternate: tui.HasAlternate(os.Getenv), Title: os.Getenv("TERM") != "linux" && os.Getenv("CLAUDE_CODE_DISABLE_TERMINAL_TITLE") == "", Suspend: term.Suspend,
		History: tui.HistoryFile(filepath.Join(workspace.StateDir(), "history.jsonl")),
		First:   tui.Opening{Resume: f.Resume, At: f.ResumeAt, Continue: f.Continue, Choose: choose},
		Prompt:  strings.Join(args, " "),
		Open:    opener(opts), Setup: credentialsFile(), Sessions: tui.Kept(dir),
	})
}

// interactPlain talks line by line, for screen readers and for terminals without a screen.
// Ctrl-C stops a turn; between turns it ends haft.
func (f *converseFlags) interactPlain(ctx context.Context, opts *headless.Options, args []string) error {
	if err := f.askGuards(ctx, opts); err != nil {
		return err
	}
	interrupts := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, append(terminations(), os.Interrupt)...)
	defer signal.Stop(signals)
	f.takeInterrupts()
	go func() {
		for s := range signals {
			if s != os.Interrupt {
				cancel()
				return
			}
			select {
			case interrupts <- struct{}{}:
			default:
				cancel() // nothing receives the first one
			}
		}
	}()
	words, err := f.wordsFor(uiLanguage(&opts.Harness))
	if err != nil {
		return err
	}
	return plain.Converse(ctx, &plain.ConverseOptions{
		In: f.In, Out: f.Out, Prompt: strings.Join(args, " "), Interrupts: interrupts,
		Show: &plain.Options{Lang: words, Asks: true, Color: isTerminal(f.Out) && style.Detect(os.Getenv) != style.Plain && !f.plain},
		Open: func(ctx context.Context, person *plain.Person) (*harness.Conversation, error) {
			return openTalk(ctx, opts, tui.Opening{Resume: f.Resume, At: f.ResumeAt, Continue: f.Continue}, person)
		},
	})
}

// wordsFor are haft's messages in the language chosen by the flag, a setting or the locale. A
// setting that names none keeps a conversation from starting.
func (f *converseFlags) wordsFor(setting string) (*lang.Catalogue, error) {
	words, err := lang.Load(lang.Choose(f.Streams.lang.said, setting, os.Getenv))
	if err != nil {
		return nil, usageError{fmt.Errorf("could not choose the language: %w", err)}
	}
	return words, nil
}

// chooseSession lists the sessions of this folder and reads the number of one; anything
// else starts a new one.
func (f *converseFlags) chooseSession(ctx context.Context, sessions tui.Kept) error {
	const most = 20
	list, err := sessions.List(false)
	if err != nil {
		return err
	}
	for i, s := range list[:min(len(list), most)] {
		cost := ""
		if o, err := sessions.Look(ctx, s); err == nil {
			cost = fmt.Sprintf("$%.2f, ", o.Cost)
		}
		fmt.Fprintf(f.Out, "%d: %s (%s%s)\n", i+1, inOneLine(cmp.Or(s.Title, s.Prompt), 60), cost, s.Modified.Local().Format("2006-01-02 15:04"))
	}
	fmt.Fprint(f.Out, "Number of the session to resume (anything else starts a new one):\n> ")
	answer, err := readLine(ctx, f.In)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(answer)); err == nil && n >= 1 && n <= min(len(list), most) {
		f.Resume = list[n-1].ID
	}
	return nil
}

// askGuards asks, line by line, what to do about a project whose hooks guard it but are not
// trusted. The screen has its own dialog.
func (f *converseFlags) askGuards(ctx context.Context, opts *headless.Options) error {
	p, err := project.Open(&opts.Harness)
	if err != nil {
		return nil // which the conversation says, when it cannot be opened
	}
	unguarded := trust.NewUnguarded(p.Dir, p.Held)
	if unguarded == nil {
		return nil
	}
	fmt.Fprintf(f.Out, "This folder has hooks that guard it and are not trusted:\n")
	for _, h := range unguarded.Hooks {
		fmt.Fprintf(f.Out, "  %s\n", visible.Indented(h.String()))
	}
	fmt.Fprintf(f.Out, "t: trust everything in this folder as it is now · w: continue without its hooks · anything else: quit\n> ")
	answer, err := readLine(ctx, f.In)
	if err != nil {
		return err
	}
	switch strings.TrimSpace(answer) {
	case "t":
		var items []trust.Item
		for _, h := range slices.Concat(p.Held, p.HeldClaims()) {
			if h.Never == "" {
				items = append(items, h.Item)
			}
		}
		opts.Harness.TrustProject = true // also what cannot be kept
		return p.Folder.Grant(ctx, items...)
	case "w":
		opts.Harness.IgnoreProjectHooks = true
		return nil
	}
	return usageError{unguarded}
}

// opener opens conversations as the flags say.
func opener(opts *headless.Options) func(context.Context, tui.Opening, tui.Person) (*tui.Talk, error) {
	asking := *opts
	asking.Harness.AsksTrust = true // the screen does
	if path, err := trust.DefaultPath(); err == nil {
		asking.Harness.Trust = trust.NewStore(path) // what is agreed to for now holds when the conversation opens again
	}
	return func(ctx context.Context, o tui.Opening, person tui.Person) (*tui.Talk, error) {
		c, err := openTalk(ctx, &asking, o, person)
		if err != nil {
			return nil, err
		}
		return tui.Of(c), nil
	}
}

// openTalk begins one conversation with a user.
func openTalk(ctx context.Context, opts *headless.Options, o tui.Opening, person tui.Person) (*harness.Conversation, error) {
	world := opts.Harness
	w, err := harness.Open(&world)
	if err != nil {
		return nil, err
	}
	talk := opts.Talk
	talk.Resume, talk.ResumeAt, talk.Continue, talk.Kept = o.Resume, o.At, o.Continue, o.Kept
	talk.Person, talk.Interactive, talk.MCP.Elicit = person, true, person.Elicit
	c, err := w.Talk(ctx, &talk)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if err := c.Journal().KeepPlace(ctx); err != nil {
		c.Agent.Emit(agent.Notice{Level: "warning", Text: "Could not save the return to an earlier message: " + err.Error()})
	}
	return c, nil
}
