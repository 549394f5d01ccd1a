package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
	"github.com/spf13/cobra"
)

// permissionsFlags are what the commands under "haft permissions" share.
type permissionsFlags struct {
	Streams
	reexec shellrun.Reexec
	json   bool
	scope  string
	batch  bool
	mode   string
}

func newPermissions(s Streams, reexec shellrun.Reexec) *cobra.Command {
	f := &permissionsFlags{Streams: s, reexec: reexec}
	c := group(&cobra.Command{
		Use:   "permissions",
		Short: message("Explain verdicts, and list, add and remove rules"),
		Long: `Explain verdicts, and list, add and remove the rules that decide whether a call
may run. A rule is a tool's name, optionally with a pattern for its input:

  Bash(git diff:*)  Bash(npm test)  Read(./secrets/**)  Edit(/src/**)
  WebFetch(domain:example.com)  mcp__server  mcp__server__tool

Deny overrides ask, and ask overrides allow, regardless of which file a rule is in.`,
	})
	c.PersistentFlags().BoolVar(&f.json, "json", false, "write JSON")
	explain := &cobra.Command{
		Use:   "explain TOOL INPUT",
		Short: message("Show the verdict on a call and the rule behind it"),
		Long: `Show the verdict on a call under this folder's settings, and the rule, file and line
behind it. The call goes through the same steps as in a session, up to its verdict:
its input is checked and repaired, and the tool classifies it. Nothing
runs and no one is asked; hooks that would see the call are named but not run.

With --batch, questions are read from standard input, one JSON object per line with
tool, input, and optionally mode, rules {allow, ask, deny}, source, cwd, home and
trusted; one verdict per line is written. The verdict then depends only on the question
and its rules, not on settings or hooks.`,
		Example: `  haft permissions explain Bash 'git status && git push'
  haft permissions explain --permission-mode plan Write '{"file_path": "/src/a.go", "content": ""}'
  haft permissions explain --batch < questions.jsonl`,
		Args: func(c *cobra.Command, args []string) error {
			if f.batch {
				return exactly(0)(c, args)
			}
			return exactly(2)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.batch {
				return f.explainBatch()
			}
			return f.explain(c.Context(), args[0], args[1])
		},
	}
	explain.Flags().StringVar(&f.mode, "permission-mode", "", "permission mode to judge in; defaults to the one in the settings")
	explain.Flags().BoolVar(&f.batch, "batch", false, "read one question per line from standard input")
	c.AddCommand(explain, f.newList(), f.newWhy(),
		f.newChange(change{name: "add", short: message("Add a rule")}),
		f.newChange(change{name: "remove", short: message("Remove a rule"), removes: true}))
	return c
}

func (f *permissionsFlags) newList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: message("List the rules that apply and those that do not"), Args: exactly(0),
		RunE: func(*cobra.Command, []string) error { return f.list() },
	}
}

// ruleInfo is a rule as programs read it.
type ruleInfo struct {
	Behavior string          `json:"behavior"`
	Rule     string          `json:"rule"`
	Origin   settings.Origin `json:"origin"`
	Problem  string          `json:"problem,omitempty"`
}

func (f *permissionsFlags) list() error {
	p, err := project.Open(nil)
	if err != nil {
		return err
	}
	p.Warn(f.Err)
	opts, err := p.Policy()
	if err != nil {
		return err
	}
	infos := []ruleInfo{}
	for _, r := range opts.Rules {
		i := ruleInfo{Behavior: r.Behavior.String(), Rule: r.Text, Origin: r.Origin}
		if err := r.Check(); err != nil {
			i.Problem = err.Error()
		}
		infos = append(infos, i)
	}
	if f.json {
		return writeJSON(f.Out, infos)
	}
	if len(infos) == 0 {
		fmt.Fprintf(f.Err, "There are no rules here. Add one with: haft permissions add allow 'Bash(git diff:*)'\n")
	}
	w := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	for _, i := range infos {
		fmt.Fprintf(w, "%s\t%s\t%s\n", i.Behavior, visible.Indented(i.Rule), i.Origin)
		if i.Problem != "" {
			fmt.Fprintf(f.Err, "%s is ignored: %s\n", visible.Indented(i.Rule), i.Problem)
		}
	}
	for _, h := range p.Held {
		fmt.Fprintln(f.Err, visible.Indented(h.String()))
	}
	return w.Flush()
}

// A change adds a rule to a settings file or takes it out.
type change struct {
	name, short string
	removes     bool
}

func (f *permissionsFlags) newChange(ch change) *cobra.Command {
	c := &cobra.Command{
		Use: ch.name + " allow|ask|deny RULE", Short: ch.short, Args: exactly(2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := notInSession("permissions " + ch.name); err != nil {
				return err
			}
			return f.change(c.Context(), ch, args[0], args[1])
		},
	}
	c.Flags().StringVar(&f.scope, "scope", "local", "local (for you, in this project), project or user")
	return c
}

func (f *permissionsFlags) change(ctx context.Context, ch change, behavior, rule string) error {
	b, err := parseBehavior(behavior)
	if err != nil {
		return err
	}
	source, err := settings.ParseSource(f.scope)
	if err != nil || !slices.Contains([]settings.Source{settings.Local, settings.Project, settings.User}, source) {
		return usageError{fmt.Errorf("--scope %s: use local, project or user", f.scope)}
	}
	if err := (permission.Rule{Text: rule, Behavior: b}).Check(); err != nil && !ch.removes {
		return usageError{fmt.Errorf("cannot use the rule %s: %w", rule, err)}
	}
	if err := project.Misnamed(permission.Rule{Text: rule, Behavior: b}); err != nil && !ch.removes {
		if b != tool.Allow { // no session would start with it
			return usageError{fmt.Errorf("cannot use the rule %s: %w", rule, err)}
		}
		remarks{f.Err}.notice(agent.Notice{Level: "warning", Text: err.Error()})
	}
	p, err := project.Open(nil)
	if err != nil {
		return err
	}
	target, err := p.Target(source)
	if err != nil {
		return err
	}
	changed := changedRule{File: target.Path, Behavior: b.String(), Rule: rule}
	if ch.removes {
		if changed.Line, err = standsIn(p.Settings, target.Path, b, rule); err != nil {
			return err
		}
	}
	do := p.Keep
	if ch.removes {
		do = p.Forget
	}
	if err := do(ctx, source, permission.Rule{Text: rule, Behavior: b}); err != nil {
		return err
	}
	if !ch.removes {
		if p, err = project.Open(nil); err != nil {
			return err
		}
		changed.Line, _ = standsIn(p.Settings, target.Path, b, rule) // 0 if it was changed since
	}
	if f.json {
		return writeJSON(f.Out, changed)
	}
	done := "Added to"
	if ch.removes {
		done = "Removed from"
	}
	fmt.Fprintf(f.Err, "%s %s: %s %s\n", done, target.Path, b, visible.Indented(rule))
	return nil
}

// changedRule is a rule that was added or removed, as programs read it; Line is its line,
// or the line it had.
type changedRule struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Behavior string `json:"behavior"`
	Rule     string `json:"rule"`
}

// standsIn returns the line of a rule in a file, or says where it is instead.
func standsIn(s *settings.Settings, file string, b tool.Behavior, rule string) (line int, err error) {
	var elsewhere []string
	for _, r := range s.Rules(b) {
		switch {
		case r.Text != rule:
		case r.Origin.File == file:
			return r.Origin.Line, nil
		default:
			elsewhere = append(elsewhere, r.Origin.String())
		}
	}
	err = fmt.Errorf("there is no rule %s %s in %s", b, visible.Indented(rule), file)
	if len(elsewhere) > 0 {
		return 0, fmt.Errorf("%w; it is in %s: choose another --scope", err, strings.Join(elsewhere, ", "))
	}
	return 0, fmt.Errorf("%w. Run 'haft permissions list' for the list", err)
}

func parseBehavior(s string) (tool.Behavior, error) {
	for _, b := range []tool.Behavior{tool.Allow, tool.Ask, tool.Deny} {
		if b.String() == s {
			return b, nil
		}
	}
	return tool.NoView, usageError{fmt.Errorf("%q is not a kind of rule: use allow, ask or deny", s)}
}

func (f *permissionsFlags) newWhy() *cobra.Command {
	return &cobra.Command{
		Use: "why TOOL_USE_ID", Short: message("Show what decided a past call"), Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.why(args[0]) },
	}
}

func (f *permissionsFlags) why(id string) error {
	p, err := project.Open(nil)
	if err != nil {
		return err
	}
	log, err := p.AuditLog()
	if err != nil {
		return err
	}
	found, err := log.Find(id)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("there is no recorded verdict on a call %q", id)
	}
	if f.json {
		return writeJSON(f.Out, found)
	}
	for _, e := range found {
		fmt.Fprintf(f.Out, "%s  %s %s: %s\n", e.Time.Format("2006-01-02 15:04:05"), e.Tool, e.Behavior, visible.Indented(e.Reason))
		if e.Session != "" {
			fmt.Fprintf(f.Out, "  session %s\n", e.Session)
		}
		if e.Rule != "" {
			fmt.Fprintf(f.Out, "  rule %s in %s\n", visible.Indented(e.Rule), e.Origin)
		}
		if e.Confinement != "" {
			fmt.Fprintf(f.Out, "  confinement %s\n", e.Confinement)
		}
		if e.InputHead != "" {
			fmt.Fprintf(f.Out, "  input %s… (%d bytes, SHA-256 %s)\n", visible.Indented(e.InputHead), e.InputBytes, e.InputDigest)
		} else {
			fmt.Fprintf(f.Out, "  input %s\n", visible.Indented(string(e.Input)))
		}
	}
	return nil
}

// explain shows the verdict on one call under the current settings, as the pipeline of a
// session would reach it.
func (f *permissionsFlags) explain(ctx context.Context, name, input string) error {
	if _, err := permission.ParseMode(f.mode); err != nil {
		return usageError{err}
	}
	if strings.HasPrefix(input, "{") && !json.Valid([]byte(input)) {
		return usageError{fmt.Errorf("the input is not valid JSON: %s", input)}
	}
	w, err := harness.Open(&harness.Options{Reexec: f.reexec, Mode: f.mode, IgnoreBadRules: true, DryRun: true})
	if err != nil {
		return err
	}
	defer w.Close()
	w.Project.Warn(f.Err)
	if err := w.Project.Intact(); err != nil { // a session would not begin
		fmt.Fprintf(f.Err, "warning: %s\n", visible.Indented(err.Error()))
	}
	for _, problem := range w.Engine.Policy().Problems() {
		fmt.Fprintln(f.Err, visible.Indented(problem.String()))
	}
	v, err := dryRun(ctx, w, name, strings.TrimSpace(input))
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(f.Out, v)
	}
	v.write(f.Out)
	return nil
}

// explainBatch answers one question per line. A question contains everything that it is
// judged by; the settings of this machine are not used.
func (f *permissionsFlags) explainBatch() error {
	in := bufio.NewReader(f.In)
	out := bufio.NewWriter(f.Out)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	set := tool.NewSet(everything(), builtin.Unattached(), nil, nil)
	for {
		line, err := in.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			if err := enc.Encode(answer(set, line)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return fmt.Errorf("could not read the questions: %w", err)
		}
	}
}
