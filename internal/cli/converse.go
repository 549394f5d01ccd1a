package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/acp"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/front/plain"
	"github.com/haftdev/haft/internal/front/tui"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/models/provider"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/worktree"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// converseFlags are the flags of a conversation that runs in this process.
type converseFlags struct {
	Streams
	launch.Flags
	reexec shellrun.Reexec

	print   bool
	verbose bool
	plain   bool
	onAsk   string

	worktree string
	on       string // the server to talk on
	// tokenFile has its token.
	tokenFile string
	attachTo  string // the session to watch instead of having a conversation
}

// What a question that no one can answer does to the exit code.
const (
	onAskDeny = "deny"
	onAskFail = "fail"
)

// converse is haft without a command: a conversation.
func (f *converseFlags) run(c *cobra.Command, args []string) error {
	if f.on != "" {
		return f.runRemote(c, args)
	}
	opts, err := f.options(c.Flags())
	if err != nil {
		return err
	}
	if f.Input == "stream-json" {
		return f.serve(c.Context(), opts)
	}
	if c.Flags().Changed("resume") && f.Resume == "" {
		return usageError{errors.New("--resume needs a session id here; use --continue for the newest session")}
	}
	if err := f.Check(); err != nil {
		return usageError{err}
	}
	prompt, err := f.prompt(c.Context(), args)
	if err != nil {
		return err
	}
	return f.answer(c.Context(), opts, prompt)
}

// serve speaks stream-json with the program that started haft.
func (f *converseFlags) serve(ctx context.Context, opts *headless.Options) error {
	opts.OnInterrupt, opts.StreamClosed = onInterrupt(ctx), stdoutClosed(f.Out)
	stream := wire.Lines(wire.NewReader(f.In), wire.NewWriter(f.Out))
	return f.ended(ctx, opts, func() int { return headless.Serve(ctx, stream, opts) })
}

// ended runs a conversation to its end and returns the exit code; every headless run goes
// through it. If the output format has no events, standard error says which calls were denied
// because no one could be asked.
func (f *converseFlags) ended(ctx context.Context, opts *headless.Options, run func() int) error {
	d := &denials{watch: opts.Watch}
	if f.Output != "stream-json" {
		d.out = f.Err
	}
	opts.Watch = d.show
	n := run()
	if n == exitOK && d.n > 0 && f.onAsk == onAskFail {
		n = exitDenied
	}
	return code(ctx, n)
}

// options translates the flags into the options of lower packages.
func (f *converseFlags) options(fs *pflag.FlagSet) (*headless.Options, error) {
	o, err := f.Flags.Options(fs, version())
	if err != nil {
		return nil, usageError{err}
	}
	if err := f.checkOnAsk(); err != nil {
		return nil, err
	}
	for _, note := range launch.Ineffective(fs) {
		fmt.Fprintf(f.Err, "haft: %s\n", note)
	}
	o.Log, o.Harness.Reexec, o.Talk.Watch = f.Err, f.reexec, live.Open(version())
	if f.DebugFile != "" {
		log, err := os.OpenFile(f.DebugFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, usageError{fmt.Errorf("--debug-file: %w", err)}
		}
		f.Debug, o.Log = "all", log // it is open until the process ends
		fmt.Fprintf(log, "%s haft %s, process %d\n", time.Now().Format(time.RFC3339), version(), os.Getpid())
	}
	return o, nil
}

func (f *converseFlags) checkOnAsk() error {
	if f.onAsk != onAskDeny && f.onAsk != onAskFail {
		return usageError{fmt.Errorf("--on-ask %s: use deny, or fail for exit code %d", f.onAsk, exitDenied)}
	}
	return nil
}

// prompt is what the user says: the arguments, and what is piped in.
func (f *converseFlags) prompt(ctx context.Context, args []string) (string, error) {
	prompt := strings.Join(args, " ")
	if piped(f.In) {
		raw, err := readAll(ctx, f.In)
		if err != nil {
			return "", fmt.Errorf("could not read the prompt from standard input: %w", err)
		}
		if len(raw) > maxInput {
			return "", usageError{errors.New("standard input is too long for a prompt: it is more than " + strconv.Itoa(maxInput>>20) + " MB")}
		}
		prompt = strings.TrimSpace(prompt + "\n\n" + string(raw))
	}
	if prompt == "" {
		return "", usageError{errors.New(`no prompt given: use haft -p "…", or pipe the prompt in. To see haft work without an API key, run: haft demo`)}
	}
	return prompt, nil
}

// serveEditor speaks with the editor that started haft until it is gone.
func (f *converseFlags) serveEditor(c *cobra.Command) error {
	o, err := f.options(c.Flags())
	if err != nil {
		return err
	}
	err = acp.Serve(c.Context(), f.In, f.Out, &acp.Options{
		Harness: o.Harness, Talk: o.Talk, Version: version(), Log: o.Log, StreamClosed: stdoutClosed(f.Out),
		Configured: func() error {
			credentialsFile().use() // it may have been set up since
			_, _, err := provider.Open(&provider.Options{Model: o.Talk.Model, Getenv: os.Getenv})
			if errors.Is(err, provider.ErrNotConfigured) {
				return errors.New("no model is set up yet. Run haft in a terminal and choose one, or set ANTHROPIC_API_KEY in the editor's settings for haft")
			}
			return err
		},
		Logout: func() error { return credentialsFile().Forget() },
	})
	if err != nil {
		return err
	}
	return code(c.Context(), exitOK)
}

func (f *converseFlags) define(fs *pflag.FlagSet) {
	fs.BoolVarP(&f.print, "print", "p", false, "answer the prompt and exit, without a screen")
	fs.StringVar(&f.attachTo, "attach", "", "watch and steer a session that runs elsewhere, given by its id or by an address of 'haft serve'; the same as 'haft attach'")
	fs.StringVar(&f.on, "on", "", "with -p: run the prompt on the server at this address ('haft serve' or a fleet); the token comes from HAFT_SERVE_TOKEN or --token-file")
	fs.StringVar(&f.tokenFile, "token-file", "", "with --on: file with the server's token, readable only by you")
	fs.BoolVar(&f.plain, "plain", false, "talk line by line, without a screen: for screen readers and simple terminals")
	fs.BoolVar(&f.verbose, "verbose", false, "with text output: show calls and progress on standard error; with json: write every message, as a list")
	fs.StringVar(&f.onAsk, "on-ask", onAskDeny, "what to do when a call needs approval and no one can be asked: deny the call, or fail (deny it, and exit with code 3); with --on, a resumed session waits for an answer unless this flag is given")
	fs.StringVarP(&f.worktree, "worktree", "w", "", "work in a git worktree of this name, created if it does not exist; without a name, in a new one")
	fs.Lookup("worktree").NoOptDefVal = unnamed
	f.Flags.Define(fs)
}

// asksSomething reports whether a call without a terminal is a conversation: it has a
// prompt, or flags of one.
func (f *converseFlags) asksSomething(flags *pflag.FlagSet, args []string) bool {
	return len(args) > 0 || flags.NFlag() > 0 || piped(f.In) && f.hasInput()
}

// hasInput reports whether something is piped in, which it waits for.
func (f *converseFlags) hasInput() bool {
	in := bufio.NewReader(f.In)
	f.In = in
	_, err := in.Peek(1)
	return err == nil
}

// notACommand refuses to send a misspelt command as a prompt, which costs money: a single word, or several of
// which the first is nearly the name of a command.
func (f *converseFlags) notACommand(c *cobra.Command, args []string, addCommands func()) error {
	if f.print || f.Input == "stream-json" || len(args) == 0 || strings.ContainsAny(args[0], " \n") {
		return nil
	}
	addCommands()
	word := args[0]
	hint := cmp.Or(elsewhere(c, word), near.Hint(word, commandNames(c)), " Run 'haft --help' for usage.")
	instead, theirs := claudeCommands[word]
	if theirs {
		hint = " It is a command of Claude Code. " + instead
	}
	if len(args) > 1 && !misspelt(word, commandNames(c)) && (elsewhere(c, word) == "" || !isVerb(c, args[1])) && !(theirs && len(args) == 2) {
		return nil
	}
	return usageError{fmt.Errorf("unknown command %q for 'haft'.%s To send it as a prompt, run: haft -- %s", word, hint, quoted(args))}
}

// claudeCommands are the commands of Claude Code that haft has not, with what to do instead. With
// at most one word behind them they are never a prompt.
var claudeCommands = map[string]string{
	"auto-mode":   "See 'haft permissions list'.",
	"gateway":     "haft has no gateway.",
	"import":      "haft reads the files of Claude Code as they are; for MCP servers, use 'haft mcp import'.",
	"install":     "haft does not install itself.",
	"kill":        "A session ends with its process; see 'haft sessions list'.",
	"logs":        "See 'haft sessions show' or 'haft attach'.",
	"purge":       "See 'haft sessions prune'.",
	"respawn":     "See 'haft --resume'.",
	"rm":          "See 'haft sessions prune'.",
	"setup-token": "Set CLAUDE_CODE_OAUTH_TOKEN to a token that you have.",
	"stop":        "A session ends with its process; see 'haft sessions list'.",
	"ultrareview": "Run haft, then type /review.",
	"update":      "haft does not update itself.",
	"upgrade":     "haft does not update itself.",
	"config":      "See 'haft --settings' and /config in a conversation.",
}

// misspelt reports whether a word at the beginning of several is meant as a command. Words that only contain a
// command's name, such as demonstrate, are ordinary ones.
func misspelt(word string, names []string) bool {
	return slices.ContainsFunc(near.Names(word, names, len(names)), func(name string) bool {
		return max(len(word)-len(name), len(name)-len(word)) <= 1
	})
}

// isVerb reports whether commands of haft have a subcommand of this name, or would have: haft config set.
func isVerb(root *cobra.Command, word string) bool {
	return word == "set" || slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return slices.Contains(commandNames(c), word) })
}

// quoted is a prompt as one word of a shell.
func quoted(args []string) string {
	prompt := strings.Join(args, " ")
	text, err := syntax.Quote(prompt, syntax.LangBash)
	if err != nil {
		return prompt // no shell takes it
	}
	return text
}

// interactive reports whether a user at a terminal wants to talk.
func (f *converseFlags) interactive() bool {
	return !f.print && f.Input != "stream-json" && (f.plain || tui.IsTerminal(f.In, f.Out))
}

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
		Palette: style.Of(background).Fine(os.Getenv), Light: light, Lang: words, FixedLang: f.Streams.lang.said != "", FixedTheme: os.Getenv("HAFT_THEME") != "" || background == style.Plain, Version: version(), Edit: term.Edit, EditFile: term.EditFile, Clipboard: tui.Desktop{}, Login: loginFromScreen, Alternate: tui.HasAlternate(os.Getenv), Title: os.Getenv("TERM") != "linux" && os.Getenv("CLAUDE_CODE_DISABLE_TERMINAL_TITLE") == "", Suspend: term.Suspend, Notify: func(text string) string { return tui.Notification(text, os.Getenv) },
		History: tui.HistoryFile(filepath.Join(workspace.StateDir(), "history.jsonl")),
		First:   tui.Opening{Resume: f.Resume, At: f.ResumeAt, Continue: f.Continue, Choose: choose},
		Prompt:  strings.Join(args, " "),
		Open:    opener(opts, words), Setup: credentialsFile(), Sessions: tui.Kept(dir),
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
		Open: func(ctx context.Context, person *plain.Person) (*drive.Driver, error) {
			return openTalk(ctx, opts, tui.Opening{Resume: f.Resume, At: f.ResumeAt, Continue: f.Continue}, person, words)
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
func opener(opts *headless.Options, words *lang.Catalogue) func(context.Context, tui.Opening, tui.Person) (*tui.Talk, error) {
	asking := *opts
	asking.Harness.AsksTrust = true // the screen does
	if path, err := trust.DefaultPath(); err == nil {
		asking.Harness.Trust = trust.NewStore(path) // what is agreed to for now holds when the conversation opens again
	}
	return func(ctx context.Context, o tui.Opening, person tui.Person) (*tui.Talk, error) {
		d, err := openTalk(ctx, &asking, o, person, words)
		if err != nil {
			return nil, err
		}
		return tui.Of(d), nil
	}
}

// answer answers one prompt.
func (f *converseFlags) answer(ctx context.Context, opts *headless.Options, prompt string) error {
	opts.OnInterrupt, opts.Unattended = onInterrupt(ctx), true
	opts.Talk.MCP.Waiting = func(names []string, most time.Duration) {
		fmt.Fprintf(f.Err, "haft: waiting for the MCP servers %s, at most %s\n", visible.Indented(strings.Join(names, ", ")), most)
	}
	if f.Output == "stream-json" {
		return f.ended(ctx, opts, func() int { return headless.Answer(ctx, prompt, opts, wire.NewWriter(f.Out)) })
	}
	opts.OneAnswer = true
	var words *lang.Catalogue
	if f.Output == "text" && (f.verbose || strings.HasPrefix(prompt, "/")) { // a program reads the other formats
		var err error
		if words, err = f.wordsFor(uiLanguage(&opts.Harness)); err != nil {
			return err
		}
	}
	if strings.HasPrefix(prompt, "/") {
		opts.Lang = words
	}
	if f.Output == "text" && !f.verbose && f.Debug == "" {
		opts.Log = nil // the result says what went wrong
	}
	show := (&onePromptRemarks{remarks: remarks{f.Err}}).show
	if f.Output == "text" && f.verbose {
		show = plain.New(foldedPieces(f.Err), &plain.Options{Lang: words}).Show
	}
	beside := background{}
	opts.Watch = func(ev agent.Event) error {
		beside.follow(ev)
		return show(ev)
	}
	heard := &messages{all: f.Output == "json" && f.verbose}
	opts.ResultOnly = !heard.all
	err := f.ended(ctx, opts, func() int { return headless.Answer(ctx, prompt, opts, heard) })
	beside.tell(f.Err)
	if err := f.show(heard); err != nil {
		return fmt.Errorf("could not write the answer: %w", err)
	}
	return err
}

// show writes the one result there is, or every message as one list.
func (f *converseFlags) show(heard *messages) error {
	r := heard.result
	switch {
	case heard.all:
		line, err := plainjson.Marshal(heard.list)
		if err == nil {
			_, err = f.Out.Write(append(line, '\n'))
		}
		return err
	case r == nil:
		return nil
	case f.Output == "json":
		line, err := wire.Encode(r)
		if err == nil {
			_, err = f.Out.Write(append(line, '\n'))
		}
		return err
	case r.Subtype != wire.ResultSuccess || r.IsError:
		text := strings.Join(r.Errors, "\n")
		if text == "" {
			text = r.Result
		}
		_, err := fmt.Fprintf(f.Err, "haft: %s\n", visible.Text(text))
		return err
	}
	text := r.Result
	if isTerminal(f.Out) {
		text = visible.Prose(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(f.Out, text)
	return err
}

// runRemote submits a prompt to a server and follows it to its end.
func (f *converseFlags) runRemote(c *cobra.Command, args []string) error {
	if !f.print || f.Input == "stream-json" {
		return usageError{errors.New("--on needs -p and a prompt; programs use 'haft connect' instead")}
	}
	if err := f.checkOnAsk(); err != nil {
		return err
	}
	given, err := launch.SubmittedFlags(c.Flags(), true, ownFlags)
	if err != nil {
		return usageError{fmt.Errorf("could not submit the prompt: %w", err)}
	}
	if _, err := f.Options(c.Flags(), version()); err != nil { // it says what is wrong
		return usageError{err}
	}
	if c.Flags().Changed("resume") && f.Resume == "" {
		return usageError{errors.New("--resume needs a session id here; use --continue for the newest session")}
	}
	prompt, err := f.prompt(c.Context(), args)
	if err != nil {
		return err
	}
	server, err := (&attachFlags{Streams: f.Streams, tokenFile: f.tokenFile}).server(f.on)
	if err != nil {
		return err
	}
	s := &submission{converseFlags: f, server: server, refused: newRefusals(), submitted: make(chan struct{}), prompt: session.NewUUID(), heard: &messages{all: f.Output == "json" && f.verbose}}
	s.partial, _ = c.Flags().GetBool("include-partial-messages") // it is defined
	s.replay, _ = c.Flags().GetBool("replay-user-messages")
	s.questions = &unattended{submission: s, ctx: c.Context(), denies: c.Flags().Changed("on-ask"), known: map[string]bool{}, patience: foreignTime}
	return s.run(c.Context(), func(ctx context.Context) error { return s.submit(ctx, c.Flags(), prompt, given) })
}

// ownFlags are those that this process deals with: how it shows what it hears, and which
// session it is.
var ownFlags = []string{"output-format", "input-format", "session-id", "resume", "continue", "fork-session", "resume-session-at", "debug"}

// foreignTime is the usual patience.
const foreignTime = 3 * time.Second

// unnamed is the value of --worktree without a name.
const unnamed = "."

// enterWorktree moves the process into a git worktree, for --worktree: a new one, or the
// one of that name. It stays when haft ends.
func (f *converseFlags) enterWorktree(ctx context.Context) error {
	if f.worktree == "" {
		return nil
	}
	name := f.worktree
	if name == unnamed {
		name = "haft-" + time.Now().Format("20060102-150405")
	}
	if err := worktree.CheckName(name); err != nil {
		return usageError{fmt.Errorf("--worktree: %w", err)}
	}
	repo, err := worktree.Open(ctx, ".")
	if err != nil {
		return usageError{fmt.Errorf("--worktree: %w", err)}
	}
	tree, err := findOrAdd(ctx, repo, name)
	if err != nil {
		return fmt.Errorf("--worktree: %w", err)
	}
	if err := os.Chdir(tree.Path); err != nil {
		return fmt.Errorf("--worktree: %w", err)
	}
	fmt.Fprintf(f.Err, "haft: working in %s on branch %s; remove it with 'git worktree remove'\n", tree.Path, tree.Branch)
	return nil
}

// piped reports whether something other than a user's keyboard is at in.
func piped(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}
