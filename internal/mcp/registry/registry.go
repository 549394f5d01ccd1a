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
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// A Remote is a server at an address.
type Remote struct {
	Type      string           `json:"type"` // streamable-http, sse or stdio
	URL       string           `json:"url,omitempty"`
	Headers   []Input          `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
}

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
