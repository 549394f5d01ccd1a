package cli

import (
	"cmp"
	"fmt"
	"text/tabwriter"

	"github.com/haftdev/haft/internal/harness/project"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/text/visible"
)

func newHooks(s Streams) *cobra.Command {
	f := &hooksFlags{Streams: s}
	c := group(&cobra.Command{
		Use:   "hooks",
		Short: message("List the hooks that run here"),
		Long: `Hooks are your own programs that run around calls and at fixed points of a session.
They are under "hooks" in settings files; a project's hooks run once you trust them.
See 'haft help hooks'.`,
	})
	list := &cobra.Command{
		Use: "list", Short: message("List the hooks that run here, in order, and those that do not"), Args: exactly(0),
		RunE: func(*cobra.Command, []string) error { return f.list() },
	}
	list.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.AddCommand(list)
	return c
}

type hooksFlags struct {
	Streams
	json bool
}

// hookInfo is a hook as programs read it.
type hookInfo struct {
	Event   string          `json:"event"`
	Matcher string          `json:"matcher,omitempty"`
	If      string          `json:"if,omitempty"`
	Type    string          `json:"type"`
	Command string          `json:"command,omitempty"`
	URL     string          `json:"url,omitempty"`
	Prompt  string          `json:"prompt,omitempty"`
	Model   string          `json:"model,omitempty"`
	Timeout float64         `json:"timeout,omitempty"` // in seconds
	OnError string          `json:"on_error"`
	Async   bool            `json:"async,omitempty"`
	Origin  settings.Origin `json:"origin"`
}

func newHookInfo(h settings.Hook) hookInfo {
	return hookInfo{
		Event: h.Event, Matcher: h.Matcher, If: h.If, Type: h.Type, Command: h.Line(), URL: h.URL, Prompt: h.Prompt, Model: h.Model,
		Timeout: h.Timeout.Seconds(), OnError: onError(h), Async: h.Async, Origin: h.Origin,
	}
}

func onError(h settings.Hook) string {
	if h.Blocks() {
		return "block"
	}
	return "continue"
}

func (f *hooksFlags) list() error {
	p, err := project.Open(nil)
	if err != nil {
		return err
	}
	p.Warn(f.Err)
	for _, h := range p.Held {
		if h.Kind == trust.Hook {
			fmt.Fprintln(f.Err, visible.Indented(h.String()))
		}
	}
	infos := []hookInfo{}
	for _, h := range p.Counts.Hooks() {
		infos = append(infos, newHookInfo(h))
	}
	if f.json {
		return writeJSON(f.Out, infos)
	}
	if len(infos) == 0 {
		fmt.Fprintf(f.Err, "No hooks run here. To set one up, see 'haft help hooks'.\n")
	}
	w := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	for _, i := range infos {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", i.Event, visible.Indented(cmp.Or(i.Matcher, "*")), visible.Indented(cmp.Or(i.Command, i.URL, i.Prompt)), i.Origin)
	}
	return w.Flush()
}
