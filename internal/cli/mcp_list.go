package cli

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/redact"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/world/mcp"
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

// notApproved is the status of a server that the user has not reviewed yet.
const notApproved = "not approved"

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

// oneLine cuts a text to what a table bears.
func oneLine(s string) string { return shorten.Line(s, 81) }
