// Package workspace manages the files that a session works on: where their paths lead, what
// has been read of them, and how to change them safely.
//
// Open makes a Workspace for a project directory. Tools ask it to Look at a path, Load or
// Stream a file, remember what was shown (Saw), and Revise a file. Revise is the only way to
// change a file: it requires that the file was read, detects by content whether it has changed
// since, merges or reports a conflict, stores what it replaces, writes atomically, and returns
// the difference. The parts are packages of their own: guard (paths), disk (the file system),
// textfile (encodings and splices), edits (matching), merge, patch, atomic (writes), readstate
// and blob (pre-images).
//
//	ws, err := workspace.Open(dir, &workspace.Options{State: stateDir})
//	defer ws.Close()
//	left, err := ws.Recover()
//	f := ws.Look(path)
//
// A Workspace acts with the rights of its process on any path it is given: whether a path may
// be touched is decided beforehand, with the guard's facts. It never follows a symbolic link
// that the guard did not see. Everything is safe for concurrent use by several agents; changes
// to one file take turns, even between processes that share a State directory.
package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/haftdev/haft/internal/config/keep"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/workspace/atomic"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
)

// Options configures a Workspace.
type Options struct {
	// Add are directories besides the project that belong to the workspace.
	Add []string
	// Home is the user's home directory. Empty means that of the process's user.
	Home string
	// AgentDirs are the agent's own directories; see guard.Options.
	AgentDirs []string
	// State is a directory for the journal of writes and for stored contents, which no one
	// else may write to. Empty means StateDir().
	State string
	// Kept reports whether a physical path is a file that the session has stored for its
	// model; see guard.Options.
	Kept func(path string) bool
	// PlanFile returns the file in which the model may write its plan; see guard.Options.
	PlanFile func() string
	// Blobs stores what writes replace. Nil means a directory under State.
	Blobs blob.Store
	// OnChange, if not nil, is called just before every write and can stop it.
	OnChange func(context.Context, Change) error
	// OnRead, if not nil, is called whenever an agent knows more of a file or knows it
	// differently. It does not get the content.
	OnRead func(agent string, e readstate.Entry)
	// Unsaved returns the text of a file that is open in the user's editor and may not be
	// saved yet; ok is false if it is not open. Nil means that there is no editor.
	Unsaved func(ctx context.Context, path string) (text string, ok bool)
	// Reads limits how much is remembered of what each agent has read.
	Reads readstate.Options
	// Tmp tells which files in the temporary directories are the session's; nil means none.
	Tmp *sandbox.Tmp
	// FS is the file system. Nil means the real one.
	FS disk.FS
}

// Change is a write that is about to happen. If the write fails, the file keeps its old
// content.
type Change struct {
	Agent  string
	Path   string      // physical
	Before string      // digest of the content in the blob store, or "" if there is no file
	After  string      // digest of the new content
	Mode   fs.FileMode // of the file before, 0 if there is none
}

// Workspace manages the files of a session.
type Workspace struct {
	fs       disk.FS
	guard    *guard.Guard
	writer   *atomic.Writer
	blobs    blob.Store
	onChange func(context.Context, Change) error
	onRead   func(string, readstate.Entry)
	unsaved  func(context.Context, string) (string, bool)
	reads    readstate.Options
	state    string
	turns    turns
	pins     pins

	mu   sync.Mutex
	seen map[string]*readstate.State // by agent
}

// Open makes a Workspace for the project at root, which must be an existing directory.
func Open(root string, opts *Options) (*Workspace, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.FS == nil {
		o.FS = disk.OS()
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without one, nothing is known about it
	}
	if o.State == "" {
		o.State = StateDir()
	}
	if o.Blobs == nil {
		o.Blobs = blob.Dir(filepath.Join(o.State, "blobs"))
	}
	g, err := guard.New(&guard.Options{Roots: append([]string{root}, o.Add...), Home: o.Home, AgentDirs: o.AgentDirs, State: o.State, Kept: o.Kept, PlanFile: o.PlanFile, Tmp: o.Tmp, FS: o.FS})
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &Workspace{
		fs:       o.FS,
		guard:    g,
		writer:   atomic.New(filepath.Join(o.State, "writes"), o.FS),
		blobs:    o.Blobs,
		onChange: o.OnChange,
		onRead:   o.OnRead,
		unsaved:  o.Unsaved,
		reads:    o.Reads,
		state:    o.State,
		turns:    turns{dir: filepath.Join(o.State, "locks"), fs: o.FS},
		seen:     map[string]*readstate.State{},
	}, nil
}

// StateDir is the default for Options.State: haft in the user's cache directory. A guard that
// judges paths for a workspace must know it too.
func StateDir() string { return keep.State() }

// Close releases what the workspace holds open. Later writes fail.
func (w *Workspace) Close() error { return w.writer.Close() }

// Recover completes or undoes writes that earlier processes did not finish, and returns what
// it did. Call it at startup.
func (w *Workspace) Recover() ([]atomic.Leftover, error) { return w.writer.Recover() }

// Guard returns the path policy, for callers that decide about paths.
func (w *Workspace) Guard() *guard.Guard { return w.guard }

// Look finds out what a path refers to.
func (w *Workspace) Look(path string) guard.Facts { return w.guard.Look(path) }

// Root returns the physical path of the project.
func (w *Workspace) Root() string { return w.guard.Roots()[0] }

// Seen returns what an agent has read; "" means the main conversation. Each agent knows only
// what it was shown.
func (w *Workspace) Seen(agent string) *readstate.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.seen[agent]
	if !ok {
		s = readstate.New(&w.reads)
		w.seen[agent] = s
	}
	return s
}
