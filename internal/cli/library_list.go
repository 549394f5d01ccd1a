package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/haftdev/haft/internal/harness/project"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/text/visible"
)

// written is a kind of file that users write for models, as the commands that show it need
// it.
type written struct {
	Streams
	json bool
	// name is the command's, one what it shows one of.
	name, one, short, long string
	// all returns all of them, with problems and with what is not trusted; find returns one
	// with its text.
	all  func(*project.Library) ([]textInfo, []knowledge.Problem, []knowledge.Claim)
	find func(*project.Library, string) (textInfo, error)
}

// textInfo is one such thing as programs read it.
type textInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Source      string   `json:"source"`
	Path        string   `json:"path,omitempty"`
	Hint        string   `json:"argument_hint,omitempty"`
	Allow       []string `json:"allowed_tools,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	Denied      []string `json:"disallowed_tools,omitempty"`
	Model       string   `json:"model,omitempty"`
	Mode        string   `json:"permission_mode,omitempty"`
	Skills      []string `json:"skills,omitempty"`
	MaxTurns    int      `json:"max_turns,omitempty"`
	Runs        []string `json:"runs,omitempty"`
	Hooks       []string `json:"hooks,omitempty"`
	// Agent is the sub-agent that does it; "" means that the conversation does.
	Agent string   `json:"agent,omitempty"`
	For   []string `json:"for,omitempty"`
	Text  string   `json:"text,omitempty"`
}

// source says whose something is.
func source(s settings.Source, plugin string) string {
	if plugin != "" {
		return "plugin " + plugin + " (" + s.String() + ")"
	}
	return s.String()
}

// command returns the command with its list and show.
func (k *written) command() *cobra.Command {
	c := group(&cobra.Command{Use: k.name, Short: k.short, Long: k.long})
	c.PersistentFlags().BoolVar(&k.json, "json", false, "write JSON")
	c.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the available " + k.name, Args: exactly(0),
			RunE: func(*cobra.Command, []string) error { return k.list() },
		},
		&cobra.Command{
			Use: "show NAME", Short: "Show what " + k.one + " says", Args: exactly(1),
			RunE: func(_ *cobra.Command, args []string) error { return k.show(args[0]) },
		},
	)
	return c
}

func (k *written) list() error {
	p, err := project.Open(nil)
	if err != nil {
		return err
	}
	all, problems, held := k.all(p.Library)
	warnWritten(k.Err, append(p.Library.Problems, problems...), held)
	if k.json {
		return writeJSON(k.Out, append([]textInfo{}, all...))
	}
	w := tabwriter.NewWriter(k.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSOURCE\tDESCRIPTION")
	for _, t := range all {
		fmt.Fprintln(w, visible.Indented(t.Name+"\t"+t.Source+"\t"+short(t.Description)))
	}
	return w.Flush()
}

// warnWritten reports problems with files, and what does not take effect yet.
func warnWritten(w io.Writer, problems []knowledge.Problem, held []knowledge.Claim) {
	for _, p := range problems {
		fmt.Fprintf(w, "warning: %s\n", visible.Indented(p.String()))
	}
	for _, c := range held {
		fmt.Fprintf(w, "note: %s\n", visible.Indented(fmt.Sprintf("the %s %s (%s) is not trusted: review and trust it with 'haft trust'", strings.ReplaceAll(string(c.Kind), "-", " "), c.Name, c.Path)))
	}
}

// short makes a text fit into a column.
func short(text string) string { return shorten.Line(text, 80) }

func (k *written) show(name string) error {
	p, err := project.Open(nil)
	if err != nil {
		return err
	}
	t, err := k.find(p.Library, name)
	if err != nil {
		return usageError{err}
	}
	if k.json {
		return writeJSON(k.Out, t)
	}
	w := tabwriter.NewWriter(k.Out, 0, 0, 2, ' ', 0)
	for _, line := range t.lines() {
		if line[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", line[0], visible.Indented(line[1]))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if t.Text != "" {
		fmt.Fprintln(k.Out)
		for line := range strings.SplitSeq(strings.TrimSpace(t.Text), "\n") {
			fmt.Fprintln(k.Out, visible.Indented(line))
		}
	}
	return nil
}

// lines are the names and values to show.
func (t textInfo) lines() [][2]string {
	turns := ""
	if t.MaxTurns > 0 {
		turns = strconv.Itoa(t.MaxTurns)
	}
	list := func(l []string) string { return strings.Join(l, ", ") }
	return [][2]string{
		{"Name", t.Name}, {"Description", strings.Join(strings.Fields(t.Description), " ")}, {"Source", t.Source}, {"File", t.Path},
		{"Arguments", t.Hint}, {"Allows", list(t.Allow)}, {"Runs", strings.Join(t.Runs, "; ")}, {"Hooks", strings.Join(t.Hooks, "; ")}, {"Agent", t.Agent}, {"Tools", list(t.Tools)}, {"Denied tools", list(t.Denied)},
		{"Model", t.Model}, {"Mode", t.Mode}, {"Skills", list(t.Skills)}, {"Maximum turns", turns}, {"Called by", list(t.For)},
	}
}
