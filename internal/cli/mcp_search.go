package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp/registry"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/spf13/cobra"
)

const registryHelp = "file or https address of the registry; defaults to the setting mcp.registry"

type searchFlags struct {
	*mcpFlags
	registry string
	limit    int
}

func newMCPSearch(f *mcpFlags) *cobra.Command {
	s := &searchFlags{mcpFlags: f}
	c := &cobra.Command{
		Use: "search [WORD…]", Short: message("Search a registry for MCP servers"),
		Long: `Search a registry for MCP servers. A registry is a file or an address with a list in the
format of the official registry (server.json). Servers whose names, titles or descriptions contain
all words are shown; an online registry may search names only. Nothing is set up.`,
		Example: "  haft mcp search weather --registry https://registry.modelcontextprotocol.io\n  haft mcp search --registry servers.json --json",
		RunE:    func(c *cobra.Command, args []string) error { return s.search(c.Context(), args) },
	}
	c.Flags().StringVar(&s.registry, "registry", "", registryHelp)
	c.Flags().IntVar(&s.limit, "limit", 20, "how many servers to show")
	return c
}

// foundServer is a server of a registry as programs read it.
type foundServer struct {
	registry.Server
	// Entry is what haft mcp add would store, if nothing has to be set; Problem says why
	// there is none.
	Entry   json.RawMessage `json:"entry,omitempty"`
	Problem string          `json:"problem,omitempty"`
}

// searchPatience is how long a registry may take to answer.
const searchPatience = 30 * time.Second

func (f *searchFlags) search(ctx context.Context, words []string) error {
	if f.limit < 1 {
		return usageError{errors.New("--limit must be 1 or more")}
	}
	r, err := openRegistry(f.reexec, f.registry)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, searchPatience)
	defer cancel()
	found, err := r.Search(ctx, words)
	if err != nil {
		return err
	}
	if found.Unread > 0 {
		fmt.Fprintf(f.Err, "warning: %s of the registry could not be read\n", count(found.Unread, "entry", "entries"))
	}
	if found.More {
		fmt.Fprintln(f.Err, "warning: the registry is too large to search completely; give more of the name to narrow the search")
	}
	shown := found.Servers[:min(len(found.Servers), f.limit)]
	if f.json {
		list := []foundServer{}
		for _, s := range shown {
			list = append(list, describeFound(s))
		}
		return writeJSON(f.Out, list)
	}
	if len(shown) == 0 {
		_, err := fmt.Fprintln(f.Out, "No servers were found.")
		return err
	}
	w := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVERSION\tBY\tDESCRIPTION")
	for _, s := range shown {
		about := s.Description
		if s.Status == "deprecated" {
			about = "(deprecated) " + about
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cell(s.Name), cell(s.Version), cell(strings.Join(s.Kinds(), ", ")), cell(about))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if more := len(found.Servers) - len(shown); more > 0 {
		fmt.Fprintf(f.Out, "\nNot shown: %d more. Use --limit, or more words.\n", more)
	}
	return nil
}

// cell is a stranger's text in one cell of a table.
func cell(text string) string { return visible.Name(oneLine(text)) }

func describeFound(s registry.Server) foundServer {
	info := foundServer{Server: s}
	e, err := s.Entry("", nil)
	if err != nil {
		info.Problem = err.Error()
		return info
	}
	info.Entry, _ = json.Marshal(e) // it holds texts only
	return info
}

// openRegistry opens what a flag says, or else the user's settings.
func openRegistry(reexec shellrun.Reexec, flag string) (*registry.Registry, error) {
	m, err := openServers(reexec)
	if err != nil {
		return nil, err
	}
	if flag == "" {
		flag = m.Registry()
	}
	if flag == "" {
		return nil, usageError{errors.New("no registry is set: give a file or an address with --registry, or set mcp.registry in your settings")}
	}
	r, err := registry.Open(flag, nil)
	if err != nil {
		return nil, usageError{err}
	}
	return r, nil
}
