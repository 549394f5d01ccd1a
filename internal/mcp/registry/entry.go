package registry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/mcp"
)

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
