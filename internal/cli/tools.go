package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/builtin"
	"github.com/haftdev/haft/tool/schema"
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
	return errors.Join(do(w.Pool(nil).Set(session, foreign...)), end())
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
