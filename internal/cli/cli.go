// Package cli is the haft command: it reads arguments, assembles what they ask
// for and writes to the streams it is given. It is the only package that knows
// about the process's streams, signals and exit codes.
//
// In every mode meant for programs, standard output carries the promised format and
// nothing else; messages for users go to standard error.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/headless/launch"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/internal/tui"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/mcp/config"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/shellrun"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	lang          *language // of the command line that is run; nil: none was parsed
	ownInterrupts func()    // from then on Ctrl-C does not end the process; nil: it does not anyway
}

// takeInterrupts leaves Ctrl-C to the command, which is notified of it by now.
func (s Streams) takeInterrupts() {
	if s.ownInterrupts != nil {
		s.ownInterrupts()
	}
}

// Main runs the command of this process and returns its exit code. In the supervisor of
// shell commands, which is the same program, it does not return.
func Main() int {
	reexec := shellrun.Supervise()
	log.SetOutput(io.Discard) // net/http writes uninteresting messages there, over the screen
	delayFirstGC()
	ctx, stop := signal.NotifyContext(context.Background(), terminations()...)
	defer stop()
	ctx, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	interrupts := make(chan os.Signal, 1)
	if !converses(os.Args[1:]) { // where an interrupt stops the turn, not the process
		signal.Notify(interrupts, os.Interrupt)
		go func() {
			<-interrupts
			interrupt(errInterrupted)
		}()
	}
	context.AfterFunc(ctx, func() {
		stop() // a second signal kills, as people expect
		signal.Stop(interrupts)
		time.AfterFunc(endTime, func() { os.Exit(exitTerminated) })
	})
	return Run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, ownInterrupts: func() { signal.Stop(interrupts) }}, reexec)
}

// errInterrupted is why a command ends at Ctrl-C.
var errInterrupted = errors.New("interrupt signal received")

// converses reports whether to run a conversation without a screen.
func converses(args []string) bool {
	return forProgram(args) || slices.Contains(args, "-p") || slices.Contains(args, "--print")
}

// terminations are the signals that ask the process to end, directly or because its
// terminal is gone. A process that was started to outlive the terminal, as by nohup, does.
func terminations() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// endTime is how long the end may take after a signal: what hangs by then is left.
const endTime = 15 * time.Second

// Run runs one command line and returns its exit code. A program whose main is not [Main]
// has no supervisor for shell commands and passes the zero Reexec; see package shellrun.
func Run(ctx context.Context, args []string, s Streams, reexec shellrun.Reexec) int {
	root, addCommands := newConversation(s, reexec)
	if mayNameCommand(args) {
		addCommands()
	}
	if forProgram(args) {
		args = launch.Known(args, root.Flags(), s.Err)
	}
	root.SetArgs(normalize(args))
	return exitCode(root.ExecuteContext(ctx), s.Err)
}

// exitCode reports what went wrong, unless that was done already, and chooses the code.
func exitCode(err error, w io.Writer) int {
	var outcome outcomeError
	if errors.As(err, &outcome) {
		return outcomeCodes[outcome.status]
	}
	var code codeError
	if errors.As(err, &code) {
		return int(code)
	}
	if err == nil {
		return exitOK
	}
	said := err.Error()
	if said == context.Canceled.Error() {
		said = "interrupted"
	}
	fmt.Fprintf(foldedTo(w), "haft: %s\n", visible.Text(said))
	var usage usageError
	var misuse *project.UsageError
	switch {
	case errors.As(err, &usage), errors.As(err, &misuse):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitCancelled
	}
	return exitFailed
}

var outcomeCodes = map[sched.Status]int{
	sched.Succeeded: exitOK,
	sched.Failed:    exitFailed,
	sched.Unknown:   exitUsage,
	sched.Invalid:   exitUsage,
	sched.Denied:    exitDenied,
	sched.Cancelled: exitCancelled,
}

// newRoot returns haft with all its commands.
func newRoot(s Streams, reexec shellrun.Reexec) *cobra.Command {
	root, addCommands := newConversation(s, reexec)
	addCommands()
	return root
}

// newConversation returns haft without its commands, which only a command line that names one of them and help need:
// their flags are a tenth of what a start allocates.
func newConversation(s Streams, reexec shellrun.Reexec) (root *cobra.Command, addCommands func()) {
	root = group(&cobra.Command{
		Use:   "haft",
		Short: message("Run tools for language models, under your control"),
		Long: message(`haft is a tool system for language models: every effect a model has on the
world goes through a tool, and every tool call goes through one controlled
pipeline: lookup, validation, hooks, permission, execution and a bounded result.`),
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	s.lang = &language{}
	s.lang.define(root)
	addCommands = sync.OnceFunc(func() {
		for _, sub := range subcommands {
			root.AddCommand(sub.build(s, reexec))
		}
		root.SetHelpCommand(newHelp(s))
		root.InitDefaultHelpCmd() // cobra did this while there were no commands, and then it does nothing
	})
	converse := &converseFlags{Streams: s, reexec: reexec}
	converse.define(root.Flags())
	help := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if converse.attachTo != "" {
			if len(args) > 0 || c.Flags().NFlag() > 1 {
				return usageError{errors.New("--attach cannot be combined with a prompt or other flags. Run 'haft attach --help' for more")}
			}
			return newAttachFlags(s).run(c.Context(), []string{converse.attachTo})
		}
		if c.ArgsLenAtDash() != 0 {
			if err := converse.notACommand(c, args, addCommands); err != nil {
				return err
			}
		}
		credentialsFile().use()
		if err := converse.enterWorktree(c.Context()); err != nil {
			return err
		}
		if converse.interactive() {
			return converse.interact(c, args)
		}
		if !converse.print && converse.Input != "stream-json" {
			if !converse.asksSomething(c.Flags(), args) {
				addCommands()
				return help(c, args)
			}
			fmt.Fprintln(converse.Err, "haft: there is no terminal, so this runs like 'haft -p'")
		}
		return converse.run(c, args)
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w.%s Run '%s --help' for usage", plainValue(err), nearFlag(c, err), c.CommandPath())}
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		addCommands()     // which help lists
		_ = s.showHelp(c) // a reader that is gone misses nothing
	})
	return root, addCommands
}

func newSessions(s Streams) *cobra.Command {
	c := group(&cobra.Command{
		Use:   "sessions",
		Short: message("Show, export, fork and delete conversations"),
		Long: `Show, export, fork and delete conversations. Conversations are kept until you delete
them. Name a session by its id or by the beginning of its id, from any folder;
where the id is optional, it defaults to the latest session in this folder.`,
	})
	c.AddCommand(newSessionsList(s), newSessionsShow(s), newSessionsExport(s), newSessionsFork(s), newSessionsPrune(s))
	return c
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
	if len(args) > 1 && !misspelt(word, commandNames(c)) && (elsewhere(c, word) == "" || !isVerb(c, args[1])) {
		return nil
	}
	return usageError{fmt.Errorf("unknown command %q for 'haft'.%s To send it as a prompt, run: haft -- %s", word, hint, quoted(args))}
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

func newMCP(s Streams, reexec shellrun.Reexec) *cobra.Command {
	f := &mcpFlags{Streams: s, reexec: reexec}
	c := group(&cobra.Command{
		Use:   "mcp",
		Short: message("Manage MCP servers, or run haft as one"),
		Long:  "Manage MCP servers, or run haft as one: haft's own tools for any program that speaks the\nModel Context Protocol.",
	})
	c.PersistentFlags().BoolVar(&f.json, "json", false, "write JSON")
	c.AddCommand(
		newMCPSearch(f), newMCPAdd(f), newMCPAddJSON(f), newMCPImport(f), newMCPList(f), newMCPGet(f), newMCPRemove(f),
		newMCPSwitch(f, "enable", message("Enable a disabled MCP server"), false),
		newMCPSwitch(f, "disable", message("Disable an MCP server without removing it"), true),
		newMCPLogin(f), newMCPLogout(f), newMCPReconnect(f), newMCPServe(f), newMCPDoctor(f), newMCPReplay(f),
	)
	return c
}

func newMCPRemove(f *mcpFlags) *cobra.Command {
	scope := ""
	c := &cobra.Command{
		Use: "remove NAME", Short: message("Remove an MCP server"), Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error { return f.remove(c.Context(), args[0], scope) },
	}
	c.Flags().StringVarP(&scope, "scope", "s", "", "scope to remove it from; defaults to the one in effect")
	return c
}

func newMCPAddJSON(f *mcpFlags) *cobra.Command {
	a := &addFlags{mcpFlags: f}
	c := &cobra.Command{
		Use: "add-json NAME JSON", Short: message("Set up an MCP server from JSON"), Args: exactly(2),
		Example: `  haft mcp add-json tracker '{"type":"http","url":"https://mcp.example.com/"}'`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.keep(c.Context(), []config.Entry{{Name: args[0], Raw: json.RawMessage(args[1])}})
		},
	}
	c.Flags().StringVarP(&a.scope, "scope", "s", "", scopeHelp)
	c.Flags().BoolVar(&a.overwrite, "overwrite", false, "replace a server of the same name")
	return c
}

func newMCPDoctor(f *mcpFlags) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: message("Find problems with MCP servers and suggest fixes"), Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error { return f.doctor(c.Context()) },
	}
}

func newMCPGet(f *mcpFlags) *cobra.Command {
	return &cobra.Command{
		Use: "get NAME", Short: message("Show the details of an MCP server"), Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error { return f.get(c.Context(), args[0]) },
	}
}

func newMCPReconnect(f *mcpFlags) *cobra.Command {
	return &cobra.Command{
		Use: "reconnect NAME", Short: message("Reconnect to an MCP server and show the result"), Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error { return f.reconnect(c.Context(), args[0]) },
	}
}

func newMCPList(f *mcpFlags) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: message("List MCP servers and their status"), Args: exactly(0),
		Long: "List the MCP servers that are set up, and connect to each to check its status. They are\nall tried at once, for at most five seconds.",
	}
	offline := c.Flags().Bool("offline", false, "do not connect to the servers")
	c.RunE = func(c *cobra.Command, _ []string) error { return f.list(c.Context(), *offline) }
	return c
}

func newMCPLogin(f *mcpFlags) *cobra.Command {
	noBrowser := false
	c := &cobra.Command{
		Use: "login NAME", Short: message("Log in to a remote MCP server"), Args: exactly(1),
		Long: `Log in to a remote MCP server. This opens a browser if there is one, and always shows
the address of the login page. If your browser is on another machine, log in there and
paste the address of the page where you end up.`,
		RunE: func(c *cobra.Command, args []string) error { return f.login(c.Context(), args[0], noBrowser) },
	}
	c.Flags().BoolVar(&noBrowser, "no-browser", false, "only show the address; do not open a browser")
	return c
}

func newMCPLogout(f *mcpFlags) *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: message("Log out of a remote MCP server"), Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error { return f.logout(c.Context(), args[0]) },
	}
}

func newMCPReplay(f *mcpFlags) *cobra.Command {
	return &cobra.Command{
		Use: "replay NAME|FILE", Short: message("Replay recorded messages of an MCP server through haft"), Args: exactly(1),
		Long: "Replay the recorded messages of an MCP server, by its name or from a file, and show\n" +
			"how haft handles them. The server itself is not started: its recorded answers are\n" +
			"used. Messages are recorded while the setting mcp.log is on.",
		RunE: func(c *cobra.Command, args []string) error { return f.replay(c.Context(), args[0]) },
	}
}

// plainValue says what kind of value a flag needs, instead of how it was parsed.
func plainValue(err error) error {
	wrong := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	if _, ok := wrong.GetFlag().Value.(*language); ok {
		return fmt.Errorf("could not choose the language: %w", wrong.Unwrap())
	}
	want, ok := map[string]string{"int": "a whole number", "float64": "a number", "duration": "a duration such as 90s or 10m", "bool": "true or false"}[wrong.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s: %q is not %s", wrong.GetFlag().Name, wrong.GetValue(), want)
}

// nearFlag suggests flags for one that does not exist.
func nearFlag(c *cobra.Command, err error) string {
	missing := (*pflag.NotExistError)(nil)
	if !errors.As(err, &missing) || len(missing.GetSpecifiedName()) < 2 {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return near.Hint("--"+missing.GetSpecifiedName(), names)
}

// group is a command that only has subcommands: it prints its help, and refuses any other
// word.
func group(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		hint := elsewhere(c, args[0])
		if hint == "" {
			hint = near.Hint(args[0], commandNames(c))
		}
		if hint == "" {
			hint = fmt.Sprintf(" Run '%s --help' for usage.", c.CommandPath())
		}
		return usageError{fmt.Errorf("unknown command %q for '%s'.%s", args[0], c.CommandPath(), hint)}
	}
	return c
}

// elsewhere is a hint for a word that is not a command of haft, but a flag of it or something
// to type in a conversation; "" for other words.
func elsewhere(c *cobra.Command, word string) string {
	if c.HasParent() {
		return ""
	}
	if f := c.Flags().Lookup(word); f != nil && !f.Hidden {
		return fmt.Sprintf(" Did you mean 'haft --%s'?", word)
	}
	typed := []string{"login"} // the screen's own
	for _, k := range command.Builtins() {
		typed = append(typed, k.Name)
	}
	if slices.Contains(typed, word) {
		return fmt.Sprintf(" Run haft, then type /%s.", word)
	}
	return ""
}

func commandNames(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return names
}

// exactly makes cobra's error about arguments say what is expected.
func exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usageError{fmt.Errorf("wrong number of arguments (got %d, want %d). Usage: %s", len(args), n, c.UseLine())}
	}
}
