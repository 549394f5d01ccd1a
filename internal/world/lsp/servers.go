package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// Options configure [Servers]. A nil *Options means all zero values.
type Options struct {
	// Definitions are servers beside the known ones, which they replace for the files
	// that they understand.
	Definitions []Definition
	// Roots returns the folders of the project; the first is for files in none of them.
	Roots func() []string
	// Box confines the servers; nil, and a nil answer, mean that nothing does.
	Box func() *sandbox.Spec
}

// Servers are the language servers of a session.
type Servers struct {
	host *shellrun.Host
	opts Options
	defs []Definition

	mu      sync.Mutex
	running map[place]*slot
}

// A place is what a server is started for.
type place struct{ name, root string }

// A slot holds the server of a place.
type slot struct {
	turn   sync.Mutex // while it starts
	client *Client    // nil if there is none; guarded by Servers.mu
	used   time.Time
	failed []time.Time // when it ended by itself, or did not start
}

// NewServers returns the servers of a session; none is started yet.
func NewServers(host *shellrun.Host, opts *Options) *Servers {
	s := &Servers{host: host, running: make(map[place]*slot)}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Roots == nil {
		s.opts.Roots = func() []string { return nil }
	}
	s.defs = append(append(s.defs, s.opts.Definitions...), known()...)
	return s
}

// An UnknownError says that no server understands a file.
type UnknownError struct{ Path, Known string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no language server is known for %s, only for files that end in %s", filepath.Base(e.Path), e.Known)
}

// A MissingError says that the server for a file is not installed.
type MissingError struct {
	Definition *Definition
	Path       string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("the language server for %s files is not installed: %s was not found in PATH", filepath.Ext(e.Path), strings.Join(e.Definition.Programs, " or "))
}

// Limits of a session.
const (
	maxServers  = 8
	maxFailures = 3
	forgiven    = 10 * time.Minute // after which a failure counts no more
)

// definition is the server that understands a file; nil if none does.
func (s *Servers) definition(path string) *Definition {
	for i := range s.defs {
		if _, ok := s.defs[i].language(path); ok {
			return &s.defs[i]
		}
	}
	return nil
}

// place is the place of the server for a file. A path that is in no folder of the
// project, such as one of a library, belongs to the first.
func (s *Servers) place(def *Definition, path, dir string) place {
	root := ""
	roots := s.opts.Roots()
	for _, r := range slices.Concat(roots, []string{dir}) {
		if r != "" && pathin.Contains(r, path) && (root == "" || len(r) < len(root)) {
			root = r
		}
	}
	if root == "" {
		if root = dir; len(roots) > 0 {
			root = roots[0]
		}
		return place{def.Name, root}
	}
	if len(def.Markers) > 0 {
		root = outermost(root, path, def.Markers)
	}
	return place{def.Name, root}
}

// outermost is the first folder from root towards path that has one of the files.
func outermost(root, path string, markers []string) string {
	rest, _ := pathin.Below(root, filepath.Dir(path))
	at := root
	for _, name := range append([]string{"."}, strings.Split(filepath.ToSlash(rest), "/")...) {
		at = filepath.Join(at, name)
		for _, m := range markers {
			if _, err := os.Stat(filepath.Join(at, m)); err == nil {
				return at
			}
		}
	}
	return root
}

// For returns the server for a file, which it starts if it must. Dir is where the
// agent works that asks.
func (s *Servers) For(ctx context.Context, path, dir string) (*Client, error) {
	def := s.definition(path)
	if def == nil {
		return nil, &UnknownError{path, endings(s.defs)}
	}
	at := s.place(def, path, dir)
	sl := s.slot(at)
	sl.turn.Lock()
	defer sl.turn.Unlock()
	if c := s.alive(sl); c != nil {
		return c, nil
	}
	if len(sl.failed) >= maxFailures {
		return nil, fmt.Errorf("%s failed %d times in the last %.0f minutes, so it is not started again yet", def.Name, len(sl.failed), forgiven.Minutes())
	}
	var box *sandbox.Spec
	if s.opts.Box != nil {
		box = s.opts.Box()
	}
	c, err := start(ctx, s.host, def, at.root, box)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, shellrun.ErrNotFound):
		return nil, &MissingError{def, path}
	case errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		sl.failed = append(sl.failed, time.Now())
		return nil, fmt.Errorf("could not start %s: %w", def.Name, err)
	}
	sl.client, sl.used = c, time.Now()
	return c, nil
}

// slot returns where the server of a place is kept, and ends the one that was not used
// for longest if there are many.
func (s *Servers) slot(at place) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sl := s.running[at]; sl != nil {
		return sl
	}
	if len(s.running) >= maxServers {
		var oldest place
		for p, sl := range s.running {
			if o := s.running[oldest]; o == nil || sl.used.Before(o.used) {
				oldest = p
			}
		}
		if c := s.running[oldest].client; c != nil {
			c.end()
		}
		delete(s.running, oldest)
	}
	sl := new(slot)
	s.running[at] = sl
	return sl
}

// alive returns the server of a slot if it is of use, and counts one that has ended by
// itself.
func (s *Servers) alive(sl *slot) *Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(sl.failed) > 0 && time.Since(sl.failed[0]) > forgiven {
		sl.failed = sl.failed[1:]
	}
	if sl.client == nil {
		return nil
	}
	if sl.client.Ended() {
		sl.client = nil
		sl.failed = append(sl.failed, time.Now())
		return nil
	}
	sl.used = time.Now()
	return sl.client
}

// Running returns the server for a file if it runs already; nil if it does not.
func (s *Servers) Running(path, dir string) *Client {
	def := s.definition(path)
	if def == nil {
		return nil
	}
	at := s.place(def, path, dir)
	s.mu.Lock()
	sl := s.running[at]
	s.mu.Unlock()
	if sl == nil {
		return nil
	}
	return s.alive(sl)
}

// Any reports whether any server runs.
func (s *Servers) Any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0
}

// A Definition is a kind of server: what it understands and how it is started.
type Definition struct {
	Name      string
	Programs  []string          // the first that is installed
	Args      []string          // of the program
	Languages map[string]string // the language's name in the protocol by the ending of file names, with its dot
	Install   string            // what a user does who has none
	Env       []string          // beside what commands have, as NAME=value
	// Markers are files that a project of its own has: the server is started in the
	// outermost folder that has one, if it has Markers, and else in the root.
	Markers []string
	// Options are sent with the first message, and Settings when the server asks.
	Options  json.RawMessage
	Settings json.RawMessage
	// Startup is how long it may take to start; zero means 45 seconds.
	Startup time.Duration
}

// known are the servers that need no settings.
func known() []Definition {
	script := map[string]string{".ts": "typescript", ".tsx": "typescriptreact", ".mts": "typescript", ".cts": "typescript", ".js": "javascript", ".jsx": "javascriptreact", ".mjs": "javascript", ".cjs": "javascript"}
	c := map[string]string{".c": "c", ".h": "cpp", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp", ".m": "objective-c", ".mm": "objective-cpp"}
	return []Definition{
		{
			Name: "gopls", Programs: []string{"gopls"}, Languages: map[string]string{".go": "go", ".mod": "go.mod", ".work": "go.work"},
			Install: "go install golang.org/x/tools/gopls@latest",
			Options: json.RawMessage(`{"pullDiagnostics":true}`),
		},
		{
			Name: "typescript-language-server", Programs: []string{"typescript-language-server"}, Args: []string{"--stdio"}, Languages: script,
			Install: "npm install -g typescript-language-server typescript",
			// The quick half of it answers before it has read the project, and wrong.
			Options: json.RawMessage(`{"tsserver":{"useSyntaxServer":"never"}}`),
		},
		{
			Name: "pyright", Programs: []string{"pyright-langserver", "basedpyright-langserver"}, Args: []string{"--stdio"}, Languages: map[string]string{".py": "python", ".pyi": "python"},
			Install: "npm install -g pyright, or pip install basedpyright",
		},
		{
			Name: "rust-analyzer", Programs: []string{"rust-analyzer"}, Languages: map[string]string{".rs": "rust"}, Markers: []string{"Cargo.toml"},
			Install: "rustup component add rust-analyzer",
			// Nothing of the project is run: no build scripts, no macros of other crates, no cargo check.
			Options: json.RawMessage(`{"checkOnSave":false,"cargo":{"buildScripts":{"enable":false}},"procMacro":{"enable":false}}`),
		},
		{
			Name: "clangd", Programs: []string{"clangd"}, Args: []string{"--log=error"}, Languages: c,
			Install: "the system's package manager (apt install clangd, brew install llvm)",
		},
	}
}

// language is the name of a file's language, if the server understands it.
func (d *Definition) language(path string) (string, bool) {
	name, ok := d.Languages[strings.ToLower(filepath.Ext(path))]
	return name, ok
}

// endings lists which files some servers understand.
func endings(list []Definition) string {
	all := map[string]bool{}
	for _, d := range list {
		for ending := range d.Languages {
			all[ending] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), " ")
}
