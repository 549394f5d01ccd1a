package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/redact"

	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/mcp"
)

// mcpPatience is how long commands wait for servers to connect.
const mcpPatience = 5 * time.Second

// serverInfo is a server as programs read it, without values that may be secrets.
type serverInfo struct {
	Name      string      `json:"name"`
	Status    string      `json:"status"`
	Reason    string      `json:"reason,omitempty"`
	Scope     string      `json:"scope"`
	Origin    string      `json:"origin"`
	Transport string      `json:"transport"`
	Command   []string    `json:"command,omitempty"`
	URL       string      `json:"url,omitempty"`
	Env       []string    `json:"env,omitempty"`     // names
	Headers   []string    `json:"headers,omitempty"` // names
	Login     *loginState `json:"login,omitempty"`
	Server    *mcp.Info   `json:"serverInfo,omitempty"`
	Protocol  string      `json:"protocolVersion,omitempty"`
	// Instructions are what the server tells models about its use.
	Instructions string           `json:"instructions,omitempty"`
	Tools        []mcp.ToolStatus `json:"tools,omitempty"`
	Steps        []string         `json:"steps,omitempty"`
	Stderr       []string         `json:"stderr,omitempty"`
	Noise        int              `json:"skippedNoise,omitempty"`
	LastNoise    string           `json:"lastNoise,omitempty"`
	Log          string           `json:"log,omitempty"`
}

// describeServer is what is known of a server.
func describeServer(s mcp.Status) serverInfo {
	c := s.Config
	i := serverInfo{
		Name: c.Name, Status: string(s.State), Reason: s.Error, Scope: c.Scope, Origin: c.Origin, Transport: string(s.Type),
		URL: shownURL(c.URL), Env: slices.Sorted(maps.Keys(c.Env)), Headers: slices.Sorted(maps.Keys(c.Headers)),
		Server: s.Info, Protocol: s.Protocol, Instructions: s.Instructions, Tools: s.Tools, Steps: s.Steps, Stderr: s.Stderr, Noise: s.Noise, LastNoise: s.LastNoise,
	}
	if c.Command != "" {
		i.Command = shownCommand(append([]string{c.Command}, c.Args...))
	}
	switch {
	case s.Unapproved:
		i.Status = notApproved
	case s.State == mcp.Pending:
		i.Status = "connecting"
		i.Reason = cmp.Or(i.Reason, fmt.Sprintf("not connected after %s", mcpPatience))
	}
	return i
}

// shownCommand is a command line without the values of flags that hold secrets.
func shownCommand(words []string) []string {
	words = slices.Clone(words)
	for i, word := range words {
		name, _, whole := strings.Cut(word, "=")
		if !strings.HasPrefix(name, "-") || !redact.Name(strings.TrimLeft(name, "-")) {
			continue
		}
		switch {
		case whole:
			words[i] = name + "=" + withheld
		case i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			words[i+1] = withheld
		}
	}
	return words
}

// shownURL is an address without its password and without the values of fields that hold
// secrets.
func shownURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.RawQuery == "" && u.User == nil {
		return address
	}
	fields := strings.Split(u.RawQuery, "&")
	for i, field := range fields {
		if name, _, _ := strings.Cut(field, "="); redact.Name(name) || strings.EqualFold(name, "key") {
			fields[i] = name + "=" + withheld
		}
	}
	u.RawQuery = strings.Join(fields, "&")
	return u.Redacted()
}

// connect tries all servers at once, and returns the results.
func (f *mcpFlags) connect(ctx context.Context, m *mcpServers, servers []mcp.Server) ([]serverInfo, error) {
	h, end, err := m.Host(version())
	if err != nil {
		return nil, err
	}
	defer end()
	bounded, cancel := context.WithTimeout(ctx, mcpPatience)
	defer cancel()
	h.Start(servers)
	if err := h.Wait(bounded); err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	infos := []serverInfo{}
	for _, s := range h.Status() {
		infos = append(infos, m.withLogin(describeServer(s), s.Config))
	}
	return infos, nil
}

// withLogin adds what is known of the login to a remote server.
func (m *mcpServers) withLogin(i serverInfo, s mcp.Server) serverInfo {
	l, err := project.Logins()
	if err != nil || s.URL == "" {
		return i
	}
	c, err := l.Client(s)
	if err != nil {
		return i
	}
	if state, err := c.State(); err == nil && (state.LoggedIn || i.Status == string(mcp.NeedsAuth)) {
		info := loginInfo(s.Name, state)
		i.Login = &info
	}
	return i
}

func (f *mcpFlags) list(ctx context.Context, offline bool) error {
	m, err := openServers(f.reexec)
	if err != nil {
		return err
	}
	f.warnServers(m)
	f.offerClaude(m)
	var infos []serverInfo
	if offline {
		infos = []serverInfo{}
		for _, s := range m.List {
			infos = append(infos, describeServer(mcp.Status{State: m.untried(s), Config: s, Type: s.Type, Error: s.Problem}))
		}
	} else if infos, err = f.connect(ctx, m, m.List); err != nil {
		return err
	}
	if f.json {
		for _, i := range infos {
			for n := range i.Tools {
				i.Tools[n].Schema = nil // that of each tool is in haft mcp get
			}
		}
		return writeJSON(f.Out, infos)
	}
	if len(infos) == 0 {
		_, err := fmt.Fprintln(f.Out, "No MCP servers are set up. Add one with: haft mcp add")
		return err
	}
	w := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATUS\tSCOPE\tTOOLS\tSERVER")
	for _, i := range infos {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", visible.Indented(i.Name), i.Status, i.Scope, i.offered(), visible.Indented(oneLine(i.place())))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, i := range infos {
		if i.Reason != "" {
			fmt.Fprintf(f.Out, "\n%s: %s\n", visible.Indented(i.Name), visible.Indented(i.Reason))
		}
		if text := i.leftOut(); text != "" {
			fmt.Fprintf(f.Out, "\n%s: %s\n", visible.Indented(i.Name), visible.Indented(text))
		}
	}
	return nil
}

// notApproved is the status of a server that the user has not reviewed yet.
const notApproved = "not approved"

// untried is the status of a server, as far as it is known without connecting.
func (m *mcpServers) untried(s mcp.Server) mcp.State {
	switch {
	case s.Disabled:
		return mcp.Disabled
	case s.Problem != "" || !m.Approve(s).Allowed && !m.Approve(s).Pending:
		return mcp.Failed
	case m.Approve(s).Pending:
		return notApproved
	}
	return "not tried"
}

func (i serverInfo) place() string {
	if i.URL != "" {
		return i.URL
	}
	return strings.Join(i.Command, " ")
}

// leftOut says which tools of a server the model does not get although they are not
// excluded, and why.
func (i serverInfo) leftOut() string {
	var causes []string
	n := 0
	for _, t := range i.Tools {
		if t.Offered != "" || t.Disabled == mcp.Excluded {
			continue
		}
		if n++; n <= maxLeftOut {
			causes = append(causes, t.Name+" ("+oneLine(t.Disabled)+")")
		}
	}
	switch {
	case n == 0:
		return ""
	case n > maxLeftOut:
		causes = append(causes, fmt.Sprintf("and %d more: haft mcp get %s", n-maxLeftOut, i.Name))
	}
	return fmt.Sprintf("%s not offered: %s", count(n, "of its tools is", "of its tools are"), strings.Join(causes, ", "))
}

// maxLeftOut is how many tools a list explains.
const maxLeftOut = 3

// offered counts the tools that the model gets.
func (i serverInfo) offered() (n int) {
	for _, t := range i.Tools {
		if t.Offered != "" {
			n++
		}
	}
	return n
}

// warnServers reports problems with the files.
func (f *mcpFlags) warnServers(m *mcpServers) {
	m.Project.Warn(f.Err)
	for _, w := range m.Warnings {
		fmt.Fprintf(f.Err, "warning: %s\n", visible.Indented(w))
	}
}

// oneLine cuts a text to what a table bears.
func oneLine(s string) string {
	const most = 80
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
