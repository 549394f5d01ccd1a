package config

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/world/mcp"
)

// A Policy holds the administrator's restrictions on servers. The zero Policy allows all.
type Policy struct {
	// Allowed are the servers that may be used; nil means all, an empty list none.
	Allowed []Match
	// Denied are the servers that may not be used. It takes precedence over Allowed.
	Denied []Match
}

// A Match selects servers by one of its fields. Matching by name is not a security control,
// because the author of an entry chooses its name.
type Match struct {
	ServerName    string   `json:"serverName,omitempty"`
	ServerCommand []string `json:"serverCommand,omitempty"` // the whole command line, exactly
	ServerURL     string   `json:"serverUrl,omitempty"`     // * stands for anything
}

// ReadMatches reads a list of the managed settings; null is nil.
func ReadMatches(raw json.RawMessage) ([]Match, error) {
	var list []Match
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read a list of MCP servers: %w", err)
	}
	for _, m := range list {
		if n := m.fields(); n != 1 {
			return nil, fmt.Errorf("each entry of a list of MCP servers needs exactly one of serverName, serverCommand and serverUrl")
		}
	}
	return list, nil
}

func (m Match) fields() (n int) {
	for _, set := range []bool{m.ServerName != "", m.ServerCommand != nil, m.ServerURL != ""} {
		if set {
			n++
		}
	}
	return n
}

// covers reports whether the match is about the server.
func (m Match) covers(s mcp.Server) bool {
	switch {
	case m.ServerCommand != nil:
		return s.Command != "" && slices.Equal(m.ServerCommand, append([]string{s.Command}, s.Args...))
	case m.ServerURL != "":
		return s.URL != "" && wildcard(m.ServerURL, s.URL)
	}
	return m.ServerName != "" && m.ServerName == s.Name
}

// wildcard matches an address. A * in the host stays in the host.
func wildcard(pattern, address string) bool {
	ph, pp := cutHost(pattern)
	ah, ap := cutHost(address)
	if ok, err := path.Match(strings.ToLower(ph), strings.ToLower(ah)); err != nil || !ok {
		return false
	}
	if !strings.Contains(pp, "*") {
		return strings.TrimSuffix(pp, "/") == strings.TrimSuffix(ap, "/")
	}
	parts := strings.Split(pp, "*")
	if !strings.HasPrefix(ap, parts[0]) {
		return false
	}
	ap = ap[len(parts[0]):]
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(ap, part)
		if !found {
			return false
		}
		ap = after
	}
	return strings.HasSuffix(ap, parts[last])
}

// cutHost splits an address into scheme with host, and the rest.
func cutHost(address string) (host, rest string) {
	scheme, after, found := strings.Cut(address, "://")
	if !found {
		return address, ""
	}
	// What comes before an @ is no host, whatever it looks like.
	if at := strings.LastIndex(strings.SplitN(after, "/", 2)[0], "@"); at >= 0 {
		after = after[at+1:]
	}
	if i := strings.IndexAny(after, "/?#"); i >= 0 {
		return scheme + "://" + after[:i], after[i:]
	}
	return scheme + "://" + after, ""
}

// Judge decides whether the policy lets a server be used and, if not, says why.
func (p *Policy) Judge(s mcp.Server) (ok bool, reason string) {
	if p == nil || s.Scope == "managed" || s.Type == mcp.SDK {
		return true, ""
	}
	if slices.ContainsFunc(p.Denied, func(m Match) bool { return m.covers(s) }) {
		return false, "the administrator's settings deny this server"
	}
	if p.Allowed == nil {
		return true, ""
	}
	// Where commands or addresses are listed, a name is not enough.
	strict := slices.ContainsFunc(p.Allowed, func(m Match) bool {
		return s.Command != "" && m.ServerCommand != nil || s.URL != "" && m.ServerURL != ""
	})
	for _, m := range p.Allowed {
		if m.covers(s) && (!strict || m.ServerName == "") {
			return true, ""
		}
	}
	return false, "the administrator's settings do not list this server"
}

// Approve returns a function that asks the policy first, then another check; nil approves
// whatever the policy allows.
func (p *Policy) Approve(next func(mcp.Server) mcp.Verdict) func(mcp.Server) mcp.Verdict {
	return func(s mcp.Server) mcp.Verdict {
		if ok, reason := p.Judge(s); !ok {
			return mcp.Verdict{Reason: reason}
		}
		if next == nil {
			return mcp.Verdict{Allowed: true}
		}
		return next(s)
	}
}
