// Package config turns entries in configuration files into servers.
//
//	servers, warnings := config.Servers(entries, nil)
//	host := mcp.NewHost(&mcp.Options{Approve: policy.Approve(trusted)})
//
// An [Entry] is one server in a settings file or .mcp.json. [Servers] reads entries, the
// stronger scope first, and expands variables. An entry that cannot be used becomes a server
// with a Problem, so that it is listed with the reason instead of missing from the list.
// [Import] reads the files of other tools.
//
// What may be started is not decided here: a [Policy] holds the administrator's restrictions,
// and the caller knows whether a repository's entry was approved.
//
// Nothing here touches files, and everything is safe for concurrent use.
package config

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/world/mcp"
)

// An Entry is a server as a file describes it.
type Entry struct {
	Name   string
	Raw    json.RawMessage
	Scope  string // where it was configured: managed, local, project, user, …
	Origin string // the file, or the file and the line
}

// Options say how entries are read. A nil *Options means all zero values.
type Options struct {
	// Lookup finds variables; nil means os.LookupEnv.
	Lookup func(name string) (string, bool)
}

// Servers reads entries. If several have the same name, the first replaces the others
// completely. Two entries that reach the same server under two names become one server, with
// the first name.
func Servers(entries []Entry, opts *Options) (servers []mcp.Server, warnings []string) {
	lookup := os.LookupEnv
	if opts != nil && opts.Lookup != nil {
		lookup = opts.Lookup
	}
	names, endpoints := map[string]bool{}, map[string]string{}
	for _, e := range entries {
		if names[e.Name] {
			continue
		}
		names[e.Name] = true
		s, notes := read(e, lookup)
		for _, n := range notes {
			warnings = append(warnings, fmt.Sprintf("%s: MCP server %q: %s", e.Origin, e.Name, n))
		}
		end := endpoint(s)
		if first, double := endpoints[end]; double && end != "" && !s.Disabled {
			warnings = append(warnings, fmt.Sprintf("%s: MCP server %q is ignored: it is the same as %q", e.Origin, e.Name, first))
			continue
		}
		endpoints[end] = e.Name
		servers = append(servers, s)
	}
	return servers, warnings
}

// endpoint is what makes two servers the same; "" means nothing does.
func endpoint(s mcp.Server) string {
	switch {
	case s.Problem != "" || s.Disabled:
		return ""
	case s.URL != "":
		headers, _ := json.Marshal(s.Headers)
		return s.URL + "\x00" + string(headers)
	case s.Command != "":
		all, _ := json.Marshal([]any{s.Command, s.Args, s.Env, s.Dir})
		return string(all)
	}
	return ""
}

// read makes a server of an entry.
func read(e Entry, lookup func(string) (string, bool)) (s mcp.Server, notes []string) {
	s = mcp.Server{}
	if err := json.Unmarshal(e.Raw, &s); err != nil {
		s = mcp.Server{Problem: "the entry cannot be read: " + err.Error()}
	}
	s.Name, s.Scope, s.Origin = e.Name, e.Scope, e.Origin
	if name := strings.TrimSpace(e.Name); name != e.Name {
		notes = append(notes, "the name has spaces around it")
	}
	if s.Problem != "" {
		return s, notes
	}
	if s.Trusted && (e.Scope == "project" || e.Scope == "local") {
		s.Trusted = false
		notes = append(notes, "trust is ignored: a project cannot vouch for its own servers")
	}
	for _, text := range texts(&s) {
		if strings.TrimSpace(*text) != *text {
			notes = append(notes, fmt.Sprintf("there are spaces around %q", *text))
		}
	}
	missing := expand(&s, lookup)
	s.Problem = check(&s)
	if len(missing) == 0 {
		return s, notes
	}
	what, it := "the variable "+missing[0]+" is not set", "it"
	if len(missing) > 1 {
		what, it = "the variables "+strings.Join(missing, ", ")+" are not set", "them"
	}
	if s.Problem != "" { // because of it, more likely than not
		s.Problem = fmt.Sprintf("%s: set %s, or give a default as in ${%s:-value}", what, it, missing[0])
		return s, notes
	}
	return s, append(notes, fmt.Sprintf("%s, so the server gets an empty value: set %s, or give a default as in ${%s:-value}", what, it, missing[0]))
}

// check says what is wrong with an entry.
func check(s *mcp.Server) string {
	switch s.Type {
	case "", mcp.Stdio, mcp.HTTP, mcp.SSE, mcp.SDK, "streamable-http", "streamableHttp":
	case "ws":
		return "the type ws is not supported: use http"
	default:
		return fmt.Sprintf("unknown type %q: use stdio, http or sse", s.Type)
	}
	switch {
	case s.Command != "" && s.URL != "":
		return "the entry has both a command and a url: remove one of them"
	case s.Type == mcp.SDK:
		return ""
	case s.Command == "" && s.URL == "":
		return "the entry has neither a command nor a url"
	case s.URL != "":
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Sprintf("%q is not an http or https URL", s.URL)
		}
	}
	return ""
}

// texts are the parts of an entry that have no reason to begin or end in spaces.
func texts(s *mcp.Server) []*string { return []*string{&s.Command, &s.URL} }

// expand fills in the variables of an entry and returns those that are not set.
func expand(s *mcp.Server, lookup func(string) (string, bool)) (missing []string) {
	fill := func(text string) string {
		filled, unset := Expand(text, lookup)
		missing = append(missing, unset...)
		return filled
	}
	s.Command, s.URL, s.HeadersHelper, s.Dir = fill(s.Command), fill(s.URL), fill(s.HeadersHelper), fill(s.Dir)
	for i := range s.Args {
		s.Args[i] = fill(s.Args[i])
	}
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for name := range m {
			m[name] = fill(m[name])
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// Expand fills in ${NAME} and ${NAME:-default}. Other dollar signs stay; a variable that is
// missing is empty.
func Expand(text string, lookup func(string) (string, bool)) (filled string, missing []string) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), missing
		}
		inside, after, closed := strings.Cut(rest, "}")
		name, fallback, hasFallback := strings.Cut(inside, ":-")
		if !closed || !isName(name) {
			b.WriteString("${")
			text = rest
			continue
		}
		value, set := lookup(name)
		switch {
		case set && (value != "" || !hasFallback):
			b.WriteString(value)
		case hasFallback:
			b.WriteString(fallback)
		default:
			missing = append(missing, name)
		}
		text = after
	}
}

func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// File reads a file in the format of .mcp.json, which may have comments.
func File(data []byte, scope, origin string) ([]Entry, error) {
	var file struct {
		Servers ordered `json:"mcpServers"`
	}
	if err := unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read %s: %w", origin, err)
	}
	var entries []Entry
	for _, m := range file.Servers {
		entries = append(entries, Entry{Name: m.name, Raw: m.value, Scope: scope, Origin: origin})
	}
	return entries, nil
}
