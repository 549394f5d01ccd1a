package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
	"github.com/spf13/cobra"
)

// toolsFlags are what the commands under "haft tools" share.
type toolsFlags struct {
	Streams
	reexec shellrun.Reexec
	json   bool
	bare   bool
	mcp    bool // with the tools of MCP servers
	listed bool // without tools that the settings leave out
	trust  projectTrust
}

func newTools(s Streams, reexec shellrun.Reexec) *cobra.Command {
	f := &toolsFlags{Streams: s, reexec: reexec}
	c := group(&cobra.Command{
		Use:   "tools",
		Short: message("List, describe and run the tools that a model gets"),
		Long:  "List, describe and run the tools that a model gets.\nA call goes through the same pipeline as a model's call.",
	})
	c.PersistentFlags().BoolVar(&f.json, "json", false, "write JSON")
	c.PersistentFlags().BoolVar(&f.bare, "bare", false, "keep only "+strings.Join(builtin.Bare(), ", "))
	list := &cobra.Command{
		Use: "list", Short: message("List the tools with their marks: read-only, concurrent, destructive"), Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			f.listed = true
			return f.inPool(c.Context(), f.list)
		},
	}
	list.Flags().BoolVar(&f.mcp, "mcp", false, "start the MCP servers that are set up, and list their tools too")
	c.AddCommand(
		list,
		&cobra.Command{
			Use: "describe NAME", Short: message("Show what the model reads about a tool"), Args: exactly(1),
			RunE: func(c *cobra.Command, args []string) error {
				return f.inPool(c.Context(), func(set *tool.Set) error { return f.describe(set, args[0]) }, args[0])
			},
		},
		&cobra.Command{
			Use: "schema NAME", Short: message("Print the JSON Schema of a tool's input"), Args: exactly(1),
			RunE: func(c *cobra.Command, args []string) error {
				return f.inPool(c.Context(), func(set *tool.Set) error { return f.schema(set, args[0]) }, args[0])
			},
		},
		newToolsCall(f),
		newToolsNew(f),
		newToolsTest(f),
	)
	return c
}

// inPool opens the world, assembles its pool like a session that can do everything,
// including the tools of MCP servers if one of names is theirs, and calls do with it.
func (f *toolsFlags) inPool(ctx context.Context, do func(*tool.Set) error, names ...string) error {
	w, err := harness.Open(&harness.Options{Reexec: f.reexec, Bare: f.bare})
	if err != nil {
		return err
	}
	defer w.Close()
	foreign, end, err := f.foreign(ctx, w, names...)
	if err != nil {
		return err
	}
	session := everything()
	if f.listed {
		maps.Copy(session.Flags, w.UnusedLists())
	}
	err = errors.Join(do(w.Pool(nil).Set(session, foreign...)), end())
	if err == nil && f.listed && !f.mcp {
		err = f.mentionServers(w)
	}
	return err
}

// mentionServers says that servers would add to the list.
func (f *toolsFlags) mentionServers(w *harness.World) error {
	servers, err := w.Project.Servers()
	if err != nil {
		return err
	}
	used := slices.DeleteFunc(slices.Clone(servers.List), func(s mcp.Server) bool { return s.Disabled })
	if len(used) > 0 {
		fmt.Fprintf(f.Err, "%s configured. To list the tools of MCP servers too, add --mcp.\n", plural.Forms(len(used), "MCP server is", "MCP servers are"))
	}
	return nil
}

func (f *toolsFlags) lookup(set *tool.Set, name string) (*tool.Tool, error) {
	if t := set.Lookup(name); t != nil {
		return t, nil
	}
	hint := near.Hint(name, set.Session().Tools)
	if hint == "" {
		hint = " Run 'haft tools list' for the list."
	}
	return nil, usageError{fmt.Errorf("there is no tool %q.%s", name, hint)}
}

// toolInfo is a tool as programs read it.
type toolInfo struct {
	Name        string          `json:"name"`
	Aliases     []string        `json:"aliases,omitempty"`
	Title       string          `json:"title,omitempty"`
	Source      string          `json:"source"`
	Deferred    bool            `json:"deferred"`
	Marks       markInfo        `json:"marks"`
	MaxResult   int             `json:"max_result"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	// OutputSchema is that of the typed output, which programs read.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
}

type markInfo struct {
	ReadOnly        bool `json:"read_only"`
	ConcurrencySafe bool `json:"concurrency_safe"`
	Destructive     bool `json:"destructive"`
}

// info describes t. Marks depend on the input: these are for a typical one.
func info(set *tool.Set, t *tool.Tool) toolInfo {
	i := toolInfo{Name: t.Name, Aliases: t.Aliases, Title: t.Title, Source: t.Source, Deferred: t.Deferred, MaxResult: t.ResultLimit()}
	if i.Source == "" {
		i.Source = "built-in"
	}
	if example := set.View(t).Example(); example != nil {
		m := t.MarksOf(&tool.Call{Tool: t.Name, Input: example, Session: set.Session(), Tools: set})
		i.Marks = markInfo{m.ReadOnly, m.ConcurrencySafe, m.Destructive}
	}
	return i
}

func (m markInfo) String() string {
	var words []string
	if m.ReadOnly {
		words = append(words, "read-only")
	} else {
		words = append(words, "writes")
	}
	if m.ConcurrencySafe {
		words = append(words, "concurrent")
	}
	if m.Destructive {
		words = append(words, "destructive")
	}
	return strings.Join(words, ", ")
}

func (f *toolsFlags) list(set *tool.Set) error {
	infos := []toolInfo{}
	for _, t := range set.All() {
		infos = append(infos, info(set, t))
	}
	if f.json {
		return writeJSON(f.Out, infos)
	}
	w := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tMARKS\tSOURCE\tDEFERRED")
	for _, i := range infos {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", i.Name, i.Marks, i.Source, yesNo(i.Deferred))
	}
	return w.Flush()
}

func (f *toolsFlags) describe(set *tool.Set, name string) error {
	t, err := f.lookup(set, name)
	if err != nil {
		return err
	}
	i := info(set, t)
	i.Description, i.InputSchema = t.Describe(set.Session()), set.View(t).JSON()
	if t.Output != nil {
		i.OutputSchema = t.Output.View(nil).JSON()
	}
	if f.json {
		return writeJSON(f.Out, i)
	}
	w := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "Name\t%s\n", i.Name)
	if len(i.Aliases) > 0 {
		fmt.Fprintf(w, "Also called\t%s\n", strings.Join(i.Aliases, ", "))
	}
	fmt.Fprintf(w, "Source\t%s\n", i.Source)
	fmt.Fprintf(w, "Marks\t%s (of a typical call)\n", i.Marks)
	fmt.Fprintf(w, "Result limit\t%d characters\n", i.MaxResult)
	fmt.Fprintf(w, "Deferred\t%s\n", yesNo(i.Deferred))
	if example := set.View(t).Example(); example != nil {
		fmt.Fprintf(w, "Try\thaft tools call %s '%s'\n", i.Name, example)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(f.Out, "\n%s\n\nParameters\n%s", strings.TrimSpace(i.Description), parameters(set.View(t).Fields()))
	return err
}

func (f *toolsFlags) schema(set *tool.Set, name string) error {
	t, err := f.lookup(set, name)
	if err != nil {
		return err
	}
	if f.json {
		_, err = fmt.Fprintf(f.Out, "%s\n", set.View(t).JSON())
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, set.View(t).JSON(), "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(f.Out, b.String())
	return err
}

// call runs calls in one session, until one does not succeed.
func (f *toolsFlags) call(ctx context.Context, args []string) error {
	say := remarks{f.Err}
	w, err := harness.Open(&harness.Options{Reexec: f.reexec, Bare: f.bare, Notice: say.notice, TrustProject: f.trust.project, IgnoreProjectHooks: f.trust.ignoreHooks, IgnoreBadRules: f.trust.ignoreBadRules})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Project.Intact(); err != nil {
		return err
	}
	say.all(w.Warnings())
	f.recoverFiles(w)
	feed := sched.NewFeed()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		f.showProgress(feed)
	}()
	defer func() {
		feed.Close()
		<-shown
	}()
	opts, err := f.pipeline(w, feed)
	if err != nil {
		return err
	}
	aside := *opts
	aside.Feeds = nil // what a skill runs is not what was asked for
	pool := w.Pool(w.Nested(aside))
	s := sched.New(opts)
	foreign, end, err := f.foreign(ctx, w, args...)
	if err != nil {
		return err
	}
	defer end()
	// Without the background flag: a command must not outlive this process.
	set := pool.Set(&tool.Session{Flags: map[string]bool{websearch.Flag: true}}, foreign...)
	set = set.Reveal(set.Session().Tools...)
	for i := 0; i < len(args); i += 2 {
		if err := f.callOne(ctx, s, pool.SetForManualCall(args[i], set, foreign...), args[i], args[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (f *toolsFlags) showProgress(feed *sched.Feed) {
	for e := range feed.Events(context.Background()) {
		if e.Progress != nil {
			fmt.Fprintln(f.Err, progressLine(e.Progress))
		}
	}
}

// recoverFiles fixes what an interrupted write left behind, and says so.
func (f *toolsFlags) recoverFiles(w *harness.World) {
	leftovers, err := w.Files.Recover()
	if err != nil {
		fmt.Fprintf(f.Err, "Could not check for interrupted writes: %v\n", err)
	}
	for _, l := range leftovers {
		fmt.Fprintf(f.Err, "%s: %s\n", l.Path, l.Action)
	}
}

func (f *toolsFlags) callOne(ctx context.Context, s *sched.Scheduler, set *tool.Set, name, input string) error {
	if needs, off := set.Disabled(name); off { // what the pipeline would answer is meant for a model
		return usageError{fmt.Errorf("%s works only in a conversation%s", name, parenthesized(needs))}
	}
	var raw []byte
	if input == "-" {
		var err error
		if raw, err = readAll(ctx, f.In); err != nil {
			return fmt.Errorf("could not read the input from standard input: %w", err)
		}
	} else {
		var err error
		if raw, err = given(set, name, input); err != nil {
			return err
		}
	}
	useID := fmt.Sprintf("cli-%d-%d", time.Now().UnixMicro(), os.Getpid())
	out := s.Call(ctx, set, useID, name, raw)
	if err := f.show(out); err != nil {
		return err
	}
	if out.Status == sched.Succeeded {
		return nil
	}
	return outcomeError{out.Status}
}

func parenthesized(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// pipeline is the pipeline of a session in this folder, for the user at the shell: what the
// rules deny stays denied, but what they would ask about was answered by typing the call.
func (f *toolsFlags) pipeline(w *harness.World, feed *sched.Feed) (*sched.Options, error) {
	audit, err := w.Audit()
	if err != nil {
		return nil, err
	}
	return &sched.Options{
		Judge:    w.Engine,
		Hooks:    w.CallHooks(),
		Askers:   []sched.Asker{w.Hooks, sched.AskerFunc(typedByThePerson)},
		Recorder: audit,
		Feeds:    []*sched.Feed{feed},
		Output:   w.Project.Results(),
		Dir:      w.Shell.Dir,
	}, nil
}

func typedByThePerson(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) {
	return tool.Verdict{Behavior: tool.Allow, Reason: "the user typed the call on the command line"}, nil
}

// progressLine is progress for people, in one line.
func progressLine(p tool.Progress) string {
	switch p := p.(type) {
	case tool.TextProgress:
		return p.Text
	case tool.BashProgress:
		last := strings.TrimRight(p.Output, "\n")
		last = last[strings.LastIndexByte(last, '\n')+1:]
		return fmt.Sprintf("%s, %s, %s: %s", p.Elapsed.Round(time.Second), plural.Of(p.Lines, "line"), plural.Of(p.Bytes, "byte"), last)
	}
	b, err := json.Marshal(p)
	if err != nil {
		return p.ProgressType()
	}
	return p.ProgressType() + " " + string(b)
}

// callInfo is an outcome as programs read it.
type callInfo struct {
	UseID      string          `json:"tool_use_id"`
	Tool       string          `json:"tool"`
	Status     string          `json:"status"`
	IsError    bool            `json:"is_error"`
	Code       int             `json:"code,omitempty"` // of the tool's own check; its meanings belong to the tool
	Content    []tool.Block    `json:"content"`
	Messages   []string        `json:"messages,omitempty"`
	Output     any             `json:"output,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Repairs    []string        `json:"repairs,omitempty"`
	Verdict    string          `json:"verdict,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Kept       *tool.Kept      `json:"kept,omitempty"`
	DurationMS int64           `json:"duration_ms"`
}

func (f *toolsFlags) show(out *sched.Outcome) error {
	if f.json {
		i := callInfo{
			UseID: out.UseID, Tool: out.Tool, Status: out.Status.String(), IsError: out.IsError(), Code: out.Code, Content: out.Result.Content, Output: out.Result.Output,
			Repairs: repairTexts(out.Repairs), Kept: out.Kept, DurationMS: out.Ended.Sub(out.Started).Milliseconds(), Reason: out.Verdict.Reason,
		}
		if out.Verdict.Behavior != tool.NoView {
			i.Verdict = out.Verdict.Behavior.String()
		}
		for _, m := range out.Result.Messages {
			i.Messages = append(i.Messages, tool.JoinText(m.Content))
		}
		if json.Valid(out.Input) {
			i.Input = out.Input
		}
		return writeJSON(f.Out, i)
	}
	for _, r := range repairTexts(out.Repairs) {
		fmt.Fprintf(f.Err, "input repaired: %s\n", r)
	}
	for _, n := range out.Notes {
		fmt.Fprintln(f.Err, n)
	}
	if out.Fatal != nil {
		fmt.Fprintln(f.Err, out.Fatal)
	}
	for _, b := range shownBlocks(out.Result) {
		text := blockText(b)
		if isTerminal(f.Out) {
			text = visible.Text(text)
		}
		if _, err := io.WriteString(f.Out, text); err != nil {
			return err
		}
	}
	return nil
}

// shownBlocks are the blocks of the result and of what joins the conversation after it.
func shownBlocks(r tool.Result) []tool.Block {
	blocks := slices.Clone(r.Content)
	for _, m := range r.Messages {
		blocks = append(blocks, m.Content...)
	}
	return blocks
}

// blockText is a block as a terminal can show it.
func blockText(b tool.Block) string {
	switch b.Type {
	case tool.TextBlock:
		return strings.TrimSuffix(untagged.Replace(b.Text), "\n") + "\n"
	case tool.ReferenceBlock:
		return ""
	}
	return fmt.Sprintf("[%s, %s, %d bytes; use --json to get it]\n", b.Type, b.MediaType, len(b.Data))
}

// foreign returns the tools of MCP servers if any of names is one of theirs, and a function
// that ends the servers. It starts all servers that are set up and approved, and waits for
// them as long as haft mcp list does.
func (f *toolsFlags) foreign(ctx context.Context, w *harness.World, names ...string) ([]tool.Tool, func() error, error) {
	if !f.mcp && !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "mcp__") }) {
		return nil, func() error { return nil }, nil
	}
	m, err := w.Project.Servers()
	if err != nil {
		return nil, nil, err
	}
	h, end, err := m.Host(version())
	if err != nil {
		return nil, nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, mcpPatience)
	defer cancel()
	h.Start(m.List)
	_ = h.Wait(bounded) // servers that are not ready by then are reported
	for _, s := range h.Status() {
		if i := describeServer(s); s.State != mcp.Connected && s.State != mcp.Disabled {
			fmt.Fprintf(f.Err, "warning: the MCP server %s is not available (%s): %s\n", visible.Indented(i.Name), i.Status, visible.Indented(i.Reason))
		}
	}
	return h.Tools(), end, nil
}

// parameters lists the fields of an input, a line each.
func parameters(fields []schema.Field) string {
	if len(fields) == 0 {
		return "  none\n"
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range fields {
		need := "optional"
		if f.Required {
			need = "required"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", f.Name, need, f.Type, f.Description)
	}
	w.Flush()
	return b.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
