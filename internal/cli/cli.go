// Package cli is the haft command: it reads arguments, assembles what they ask
// for and writes to the streams it is given. It is the only package that knows
// about the process's streams, signals and exit codes.
//
// In every mode meant for programs, standard output carries the promised format and
// nothing else; messages for users go to standard error.
package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/haftdev/haft/docs"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/tui/markdown"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp/config"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/sched"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	called        string    // the name that this program was called by; "" means haft
	lang          *language // of the command line that is run; nil: none was parsed
	ownInterrupts func()    // from then on Ctrl-C does not end the process; nil: it does not anyway
}

// takeInterrupts leaves Ctrl-C to the command, which is notified of it by now.
func (s Streams) takeInterrupts() {
	if s.ownInterrupts != nil {
		s.ownInterrupts()
	}
}

// agrees asks the user at a terminal; any answer but y is no. After Ctrl-C it says what did not
// happen, and the command ends.
func (s Streams) agrees(ctx context.Context, question, undone string) (bool, error) {
	fmt.Fprintf(s.folded(), "%s [y/N] ", question)
	line, err := readLine(ctx, s.In)
	if err != nil {
		fmt.Fprintf(s.folded(), "\n%s\n", undone)
		return false, codeError(exitCancelled)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// folded is standard output for sentences and tables: a terminal gets lines that end between
// words, anything else gets them as they are.
func (s Streams) folded() io.Writer { return foldedTo(s.Out) }

func (s Streams) help(root *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return s.firstHelp()
	case len(args) == 1 && args[0] == "all":
		return s.listHelp(root)
	}
	if topic, ok := docs.Find(strings.TrimSuffix(strings.TrimPrefix(args[0], "docs/"), ".md")); ok && len(args) == 1 {
		if own, ok := docs.Find(s.words().Name() + "/" + topic.Name); ok {
			topic = own
		}
		return s.print(topic)
	}
	if c, rest, err := root.Find(args); err == nil && c != root && len(rest) == 0 {
		return c.Help()
	}
	names := slices.Sorted(slices.Values(append(topicNames(), commandNames(root)...)))
	hint := cmp.Or(elsewhere(root, args[0]), near.Hint(args[0], slices.Compact(names)))
	if hint == "" || len(args) > 1 {
		hint = " Run 'haft help all' for the list."
	}
	return usageError{fmt.Errorf("there is no guide or command %q.%s", strings.Join(args, " "), hint)}
}

// firstHelp answers what haft is, how to try it and where to read on. It fits a small terminal.
func (s Streams) firstHelp() error {
	words := s.words()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", words.T(about))
	for _, c := range []struct {
		line string
		does lang.Text
	}{
		{"haft", "start a conversation in this folder"},
		{`haft -p "PROMPT"`, "print one answer and exit; for scripts and CI"},
		{"haft preview -- COMMAND", "see what a command would change, then apply or drop it"},
		{"haft demo", "watch haft work; no key and no network needed"},
		{"haft doctor", "check the setup and learn the next step"},
	} {
		fmt.Fprintf(&b, "  %-24s %s\n", c.line, words.T(c.does))
	}
	fmt.Fprintf(&b, "\n%s\n", words.T("Guides, each printed by 'haft help NAME':"))
	for _, g := range docs.Groups(words.Name()) {
		line := "  " + fmt.Sprintf("%-8s", g.Name)
		for _, t := range g.Topics {
			if len(line)+len(t.Name) > 78 {
				fmt.Fprintln(&b, line)
				line = strings.Repeat(" ", 10)
			}
			line += " " + t.Name
		}
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintf(&b, "\n%s\n", words.T("'haft help all' lists every command, flag and guide. 'haft COMMAND --help' explains one command."))
	_, err := fmt.Fprint(s.folded(), b.String())
	return err
}

func (s Streams) listHelp(root *cobra.Command) error {
	if err := root.Help(); err != nil {
		return err
	}
	var b strings.Builder
	words := s.words()
	fmt.Fprintf(&b, "\n%s\n", words.T("Guides, each printed by 'haft help NAME':"))
	for _, g := range docs.Groups(words.Name()) {
		fmt.Fprintf(&b, "\n%s\n", g.Name)
		for _, t := range g.Topics {
			fmt.Fprintf(&b, "  %-15s %s\n", t.Name, t.Title)
		}
	}
	_, err := fmt.Fprint(s.folded(), b.String())
	return err
}

// print writes a guide: formatted for a terminal, as Markdown otherwise.
func (s Streams) print(topic docs.Topic) error {
	text := topic.Text
	if !isTerminal(s.Out) {
		_, err := fmt.Fprint(s.Out, text)
		return err
	}
	page := markdown.New(pageWidth(s.Out), style.Of(style.Detect(os.Getenv)))
	page.Write(withoutLinks(text))
	lines := page.Close()
	text = strings.Join(lines, "\n") + "\n"
	if s.paged(text, len(lines)) {
		return nil
	}
	_, err := fmt.Fprint(s.Out, text)
	return err
}

// withoutLinks replaces links to other guides by the command that prints them, and takes out
// links within a guide and to files: in a terminal they lead nowhere.
func withoutLinks(text string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if !code {
			line = guideLink.ReplaceAllStringFunc(line, withoutLink)
		}
		b.WriteString(line)
	}
	return b.String()
}

func withoutLink(link string) string {
	parts := guideLink.FindStringSubmatch(link)
	label, file := parts[1], parts[2]
	topic, ok := docs.Find(strings.TrimSuffix(path.Base(file), ".md"))
	switch {
	case strings.Contains(file, "://"):
		return link
	case !ok || strings.Trim(label, "`") == "haft help "+topic.Name:
		return label
	}
	return fmt.Sprintf("%s (`haft help %s`)", label, topic.Name)
}

// guideLink is a link with its label and its file, which is empty within a guide.
var guideLink = lazyregexp.New(`!?\[([^\[\]\n]+)\]\(([^()\s#]*)(?:#[^()\s]*)?\)`)

// paged shows a text that is longer than the terminal in the user's pager (PAGER, or less).
// It reports false if it is to be printed as it is: it fits, the user wants no pager, or
// there is none.
func (s Streams) paged(text string, lines int) bool {
	out, ok := s.Out.(*os.File)
	in, okIn := s.In.(*os.File)
	if !ok || !okIn || !isTerminal(in) {
		return false
	}
	_, height, err := term.GetSize(int(out.Fd()))
	if err != nil || lines < height {
		return false
	}
	pager, chosen := os.LookupEnv("PAGER")
	if !chosen {
		pager = "less"
	}
	words := strings.Fields(pager)
	if len(words) == 0 || words[0] == "cat" {
		return false
	}
	c := exec.Command(words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), out, s.Err
	c.Env = os.Environ()
	if _, ok := os.LookupEnv("LESS"); !ok {
		c.Env = append(c.Env, "LESS=FRX") // it leaves a short text, shows colours, and keeps the screen
	}
	if c.Start() != nil {
		return false
	}
	_ = c.Wait() // a pager that the user ends early has shown what they wanted
	return true
}

// showHelp writes what a command does and how it is used. The library's own help has one
// language and knows no width.
func (s Streams) showHelp(c *cobra.Command) error {
	h := &helpText{words: s.words(), width: terminalWidth(s.Out)}
	about := strings.TrimRightFunc(c.Long, unicode.IsSpace)
	if about == "" {
		about = c.Short
	}
	if about != "" {
		fmt.Fprintf(&h.b, "%s\n\n", h.filled(h.words.T(lang.Text(about))))
	}
	if c.Runnable() || c.HasSubCommands() {
		h.usage(c)
	}
	_, err := io.WriteString(s.folded(), h.b.String())
	return err
}

// words are haft's messages in the language chosen by the flag, the settings or the locale.
// What is set wrong is for a conversation to report; other commands are then in English.
func (s Streams) words() *lang.Catalogue {
	if s.lang != nil && s.lang.said != "" {
		return s.lang.words
	}
	words, _ := lang.Load(lang.Choose("", uiLanguage(nil), os.Getenv))
	return words
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
	return Run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, called: filepath.Base(os.Args[0]), ownInterrupts: func() { signal.Stop(interrupts) }}, reexec)
}

// errInterrupted is why a command ends at Ctrl-C.
var errInterrupted = errors.New("interrupt signal received")

// converses reports whether to run a conversation without a screen.
func converses(args []string) bool {
	return forProgram(args) || slices.Contains(args, "-p") || slices.Contains(args, "--print")
}

// terminations are the signals that ask the process to end, directly or because its
// terminal is gone. A process started with nohup ignores SIGHUP.
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

// about is what haft is, in the words in which a user would tell a colleague.
const about lang.Text = `haft is a coding agent for your terminal and editor. To approve a command, you see
the diff that it would make (on Linux). haft works with your Claude Code settings,
and with Claude or any OpenAI-compatible model.`

// newConversation returns haft without its commands, which only a command line that names one of them and help need:
// their flags are a tenth of what a start allocates.
func newConversation(s Streams, reexec shellrun.Reexec) (root *cobra.Command, addCommands func()) {
	root = group(&cobra.Command{
		Use:           "haft",
		Short:         message("Run tools for language models, under your control"),
		Long:          string(about),
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	if strings.TrimSuffix(s.called, ".exe") == "claude" {
		root.SetVersionTemplate(likeClaude + " (Claude Code), by haft " + version() + "\n") // programs read the number at the start
	}
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
