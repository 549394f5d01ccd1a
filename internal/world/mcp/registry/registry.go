// Package registry reads lists of MCP servers in the format of the official registry
// (server.json, and the pages of its API), from a file or an address that the user gives.
//
//	r, err := registry.Open("servers.json", nil)
//	found, err := r.Search(ctx, []string{"weather"})
//	entry, err := found.Servers[0].Entry("", map[string][]string{"token": {"${TOKEN}"}})
//
// What a list says comes from strangers: it is bounded, nothing in it can name a variable of
// the user's environment, and only package runners that are known are put into an entry.
// Nothing is ever run. A Registry has no state and is safe for concurrent use.
package registry

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/mcp"
)

// A Server is a server of a registry.
type Server struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Version     string `json:"version,omitempty"`
	Status      string `json:"status,omitempty"` // active, deprecated or deleted; "" means active
	Website     string `json:"websiteUrl,omitempty"`
	Repository  struct {
		URL string `json:"url,omitempty"`
	} `json:"repository,omitzero"`
	Packages []Package `json:"packages,omitempty"`
	Remotes  []Remote  `json:"remotes,omitempty"`

	latest bool // the registry calls this version the latest
}

// Entry is the entry of a server with what the user has set. Kind is stdio for a package, http
// or sse for an address; "" prefers an address, because nothing has to be run for it.
func (s *Server) Entry(kind string, set map[string][]string) (mcp.Server, error) {
	var reasons []string
	for _, r := range s.Remotes {
		if why := r.unusable(kind); why != "" {
			reasons = append(reasons, why)
			continue
		}
		return s.filled(set, func(f *filler) mcp.Server { return r.entry(f) })
	}
	for _, p := range s.Packages {
		if why := p.unusable(kind); why != "" {
			reasons = append(reasons, why)
			continue
		}
		return s.filled(set, func(f *filler) mcp.Server { return p.entry(f) })
	}
	if len(reasons) == 0 {
		return mcp.Server{}, fmt.Errorf("the server %s lists neither a package nor an address", s.Name)
	}
	return mcp.Server{}, fmt.Errorf("cannot set up the server %s: %s", s.Name, strings.Join(reasons, "; "))
}

// Kinds says in one word each what the server can be reached by.
func (s *Server) Kinds() (kinds []string) {
	for _, r := range s.Remotes {
		kinds = append(kinds, r.kind())
	}
	for _, p := range s.Packages {
		kinds = append(kinds, p.Type)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// filled makes an entry, and says at once all that the user has to set.
func (s *Server) filled(set map[string][]string, make func(*filler) mcp.Server) (mcp.Server, error) {
	f := &filler{set: set, known: map[string]bool{}}
	e := make(f)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !f.known[name] {
			f.problem("it has no setting %q; it has: %s", name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(f.known)), ", "), "none"))
		}
	}
	if len(f.needs) > 0 {
		f.problem("it needs %s", strings.Join(f.needs, ", "))
	}
	if err := errors.Join(f.problems...); err != nil {
		return mcp.Server{}, fmt.Errorf("cannot set up the server %s: %w", s.Name, err)
	}
	return e, nil
}

// A Package is a program that a package runner fetches and starts.
type Package struct {
	Type       string  `json:"registryType"` // npm, pypi, oci, nuget or mcpb
	Base       string  `json:"registryBaseUrl,omitempty"`
	Identifier string  `json:"identifier"`
	Version    string  `json:"version,omitempty"`
	Runtime    string  `json:"runtimeHint,omitempty"`
	Transport  Remote  `json:"transport,omitzero"`
	RuntimeArg []Input `json:"runtimeArguments,omitempty"`
	Args       []Input `json:"packageArguments,omitempty"`
	Env        []Input `json:"environmentVariables,omitempty"`
}

func (p Package) unusable(kind string) string {
	r, known := runnerOf(p.Type)
	switch {
	case kind != "" && kind != string(mcp.Stdio):
		return fmt.Sprintf("the %s package runs as a program (stdio), not over %s", p.Type, kind)
	case p.Type == "mcpb":
		return "it has a bundle: download " + p.Identifier + " and add that file"
	case !known:
		return fmt.Sprintf("packages of type %q are not supported", p.Type)
	case p.Transport.Type != "" && p.Transport.Type != "stdio":
		return fmt.Sprintf("the %s package serves %s instead of using standard input and output", p.Type, p.Transport.Type)
	case !r.identifier.MatchString(p.Identifier):
		return fmt.Sprintf("%q is not a valid name for a package of type %s", p.Identifier, p.Type)
	case p.Version != "" && !version.MatchString(p.Version):
		return fmt.Sprintf("%q is not a valid version", p.Version)
	case p.Runtime != "" && !slices.Contains(r.commands, p.Runtime):
		return fmt.Sprintf("the %s package needs to be run with %q; haft supports %s", p.Type, p.Runtime, strings.Join(r.commands, " and "))
	case p.Base != "" && r.site != "" && !onSite(p.Base, r.site):
		return fmt.Sprintf("the %s package is at %s, not at %s", p.Type, p.Base, r.site)
	}
	return ""
}

func onSite(address, site string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && (u.Hostname() == site || strings.HasSuffix(u.Hostname(), "."+site))
}

func (p Package) entry(f *filler) mcp.Server {
	r, _ := runnerOf(p.Type)
	e := mcp.Server{Type: mcp.Stdio, Command: r.commands[0], Env: f.named(p.Env)}
	if p.Runtime != "" {
		e.Command = p.Runtime
	}
	if e.Command != "bunx" {
		e.Args = slices.Clone(r.before)
	}
	if p.Type == "oci" { // a container sees nothing of the environment unless it is told to
		for _, name := range slices.Sorted(maps.Keys(e.Env)) {
			e.Args = append(e.Args, "-e", name)
		}
	}
	own := f.arguments(p.RuntimeArg)
	if len(own) > 0 && slices.Contains(r.before, own[0]) { // some lists repeat what the runner needs anyway
		own = own[1:]
	}
	e.Args = append(e.Args, own...)
	what := p.Identifier
	if p.Version != "" && !(p.Type == "oci" && strings.ContainsAny(p.Identifier[strings.LastIndex(p.Identifier, "/")+1:], ":@")) {
		what += r.join + p.Version
	}
	e.Args = append(append(e.Args, what), r.after...)
	e.Args = append(e.Args, f.arguments(p.Args)...)
	return e
}

// A Remote is a server at an address.
type Remote struct {
	Type      string           `json:"type"` // streamable-http, sse or stdio
	URL       string           `json:"url,omitempty"`
	Headers   []Input          `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
}

// kind is the transport as entries call it; "" if there is none.
func (r Remote) kind() string {
	switch r.Type {
	case "streamable-http", "http", "streamable":
		return string(mcp.HTTP)
	case "sse":
		return string(mcp.SSE)
	}
	return ""
}

func (r Remote) unusable(kind string) string {
	switch {
	case r.kind() == "":
		return fmt.Sprintf("an address uses the unknown transport %q", r.Type)
	case kind != "" && kind != r.kind():
		return fmt.Sprintf("an address uses %s, not %s", r.kind(), kind)
	}
	return ""
}

func (r Remote) entry(f *filler) mcp.Server {
	e := mcp.Server{Type: mcp.Type(r.kind())}
	e.URL = f.template(r.URL, r.Variables)
	if u, err := url.Parse(e.URL); err != nil || allowed(u) != nil {
		f.problem("the address %q is not an https address", e.URL)
	}
	e.Headers = f.named(r.Headers)
	return e
}

var version = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9.+_-]*$`)

// An Input is an argument, a variable or a header, which may have to be set by the user.
type Input struct {
	Type        string           `json:"type,omitempty"` // of an argument: positional or named
	Name        string           `json:"name,omitempty"`
	Hint        string           `json:"valueHint,omitempty"`
	Description string           `json:"description,omitempty"`
	Required    bool             `json:"isRequired,omitempty"`
	Secret      bool             `json:"isSecret,omitempty"`
	Repeated    bool             `json:"isRepeated,omitempty"`
	Format      string           `json:"format,omitempty"` // string, number, boolean or filepath
	Value       plain            `json:"value,omitempty"`
	Default     plain            `json:"default,omitempty"`
	Choices     []plain          `json:"choices,omitempty"`
	Variables   map[string]Input `json:"variables,omitempty"`
}

// plain is a text, as which numbers and truth values are read too.
type plain string

func (p *plain) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*p = plain(text)
		return nil
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	switch value.(type) {
	case bool, float64:
		*p = plain(raw)
		return nil
	}
	return fmt.Errorf("%s is not a string", raw)
}

// official is where the registry writes what it knows about an entry.
const official = "io.modelcontextprotocol.registry/official"

// A page is what one file or answer holds.
type page struct {
	servers []Server
	unread  int // entries that could not be read
	next    string
}

// readPage reads a page of a registry, a list of entries, or one server.json.
func readPage(raw []byte) (p page, err error) {
	var whole struct {
		Servers  []json.RawMessage `json:"servers"`
		Name     string            `json:"name"`
		Metadata struct {
			Next  string `json:"nextCursor"`
			Older string `json:"next_cursor"`
		} `json:"metadata"`
	}
	var entries []json.RawMessage
	switch {
	case json.Unmarshal(raw, &entries) == nil:
	case json.Unmarshal(raw, &whole) != nil:
		return p, errors.New("it is not JSON in the format of the MCP registry")
	case whole.Servers != nil:
		entries = whole.Servers
	case whole.Name != "":
		entries = []json.RawMessage{raw}
	default:
		return p, errors.New("it has no list of servers: the format of the MCP registry is expected")
	}
	p.next = whole.Metadata.Next + whole.Metadata.Older
	for _, e := range entries {
		if s, ok := readServer(e); ok {
			p.servers = append(p.servers, s)
		} else {
			p.unread++
		}
	}
	return p, nil
}

// readServer reads an entry: a server, or a server with what the registry says about it.
func readServer(raw json.RawMessage) (s Server, ok bool) {
	var wrapped struct {
		Server json.RawMessage `json:"server"`
		Meta   map[string]struct {
			Status string `json:"status"`
			Latest bool   `json:"isLatest"`
		} `json:"_meta"`
	}
	if json.Unmarshal(raw, &wrapped) == nil && wrapped.Server != nil {
		raw = wrapped.Server
	}
	if json.Unmarshal(raw, &s) != nil || s.Name == "" {
		return Server{}, false
	}
	if said := wrapped.Meta[official]; said.Status != "" {
		s.Status = said.Status
	}
	s.latest = wrapped.Meta[official].Latest
	return s, true
}

// Found is what a search finds.
type Found struct {
	Servers []Server
	// Unread counts entries that could not be read. More says that the list was too long to
	// be read whole.
	Unread int
	More   bool
}

// add takes in a page: of several versions of a server the latest counts, else the last that is listed.
func (f *Found) add(p page, fits func(*Server) bool) {
	f.Unread += p.unread
	for _, s := range p.servers {
		if s.Status == "deleted" || !fits(&s) {
			continue
		}
		i := slices.IndexFunc(f.Servers, func(o Server) bool { return o.Name == s.Name })
		switch {
		case i < 0:
			f.Servers = append(f.Servers, s)
		case !f.Servers[i].latest:
			f.Servers[i] = s
		}
	}
}

// fitting reports whether a server has all words in its name, title or description.
func fitting(words []string) func(*Server) bool {
	return func(s *Server) bool {
		text := strings.ToLower(s.Name + "\n" + s.Title + "\n" + s.Description)
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) })
	}
}

// A runner is the program that starts packages of a type, and how.
type runner struct {
	commands   []string // the first is the one that is used if the package names none
	site       string   // that packages of the type come from
	identifier *regexp.Regexp
	before     []string // arguments before those of the package
	join       string   // what is between identifier and version
	after      []string // what is behind them
}

// runnerOf returns the runner of a type. Identifiers that a runner would take for an option,
// a folder or another source are refused.
func runnerOf(kind string) (runner, bool) {
	name := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	switch kind {
	case "npm":
		scoped := regexp.MustCompile(`^(@[A-Za-z0-9~_][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_][A-Za-z0-9._~-]*$`)
		return runner{commands: []string{"npx", "bunx"}, site: "npmjs.org", identifier: scoped, before: []string{"-y"}, join: "@"}, true
	case "pypi":
		return runner{commands: []string{"uvx"}, site: "pypi.org", identifier: name, join: "@"}, true
	case "oci":
		image := regexp.MustCompile(`^[a-z0-9][A-Za-z0-9._:/@-]*$`)
		return runner{commands: []string{"docker", "podman"}, site: "", identifier: image, before: []string{"run", "-i", "--rm"}, join: ":"}, true
	case "nuget":
		return runner{commands: []string{"dnx"}, site: "nuget.org", identifier: name, join: "@", after: []string{"--yes", "--"}}, true
	}
	return runner{}, false
}
