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
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/config/keep"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/workspace/atomic"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/merge"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
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

// explain adds to a full disk where the space under the project went, unless it is a directory of our own that is full.
func (w *Workspace) explain(err error, path string) error {
	var space *atomic.SpaceError
	switch {
	case errors.As(err, &space) && space.Store != "":
		return &fullError{Space: space}
	case errors.As(err, &space):
		return &fullError{Space: space, Largest: w.largest(5, 2*time.Second)}
	case errors.Is(err, atomic.ErrChanged):
		return refuse(Stale, "%s changed while it was being written. Nothing was written. Read it again, then send a new call.", path)
	}
	return err
}

// cannotKeep explains why what a write would replace could not be kept.
func (w *Workspace) cannotKeep(err error, path string, need int) error {
	quota := errors.Is(err, syscall.EDQUOT)
	if !quota && !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	free, _ := w.fs.Space(w.state)
	return w.explain(&atomic.SpaceError{Path: path, Store: w.state, Need: uint64(need), Free: free, Quota: quota, Err: err}, path)
}

// largest finds the n largest directories of the project's first two levels, as far as it gets in the given time.
func (w *Workspace) largest(n int, within time.Duration) []usage {
	root := w.Root()
	sums := map[string]int64{}
	deadline := time.Now().Add(within)
	w.walkSizes(root, deadline, func(path string, size int64) {
		rel, _ := filepath.Rel(root, path)
		parts := strings.Split(rel, string(filepath.Separator))
		for depth := 1; depth <= min(2, len(parts)-1); depth++ {
			sums[filepath.Join(root, filepath.Join(parts[:depth]...))] += size
		}
	})
	var out []usage
	for dir, bytes := range sums {
		if parent := sums[filepath.Dir(dir)]; parent > 0 && bytes*10 < parent*9 {
			continue // a part of something larger that is shown
		}
		out = append(out, usage{dir, bytes})
	}
	// A directory that one child fills says less than the child.
	all := slices.Clone(out)
	out = slices.DeleteFunc(out, func(u usage) bool {
		return slices.ContainsFunc(all, func(v usage) bool { return filepath.Dir(v.Dir) == u.Dir })
	})
	slices.SortFunc(out, func(a, b usage) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Dir, b.Dir)) })
	return out[:min(n, len(out))]
}

func (w *Workspace) walkSizes(dir string, deadline time.Time, add func(path string, size int64)) {
	entries, err := w.fs.ReadDir(dir)
	if err != nil || time.Now().After(deadline) {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			w.walkSizes(path, deadline, add)
		case e.Type()&fs.ModeType == 0:
			if info, err := e.Info(); err == nil {
				add(path, info.Size())
			}
		}
	}
}

// editorConfig returns what the .editorconfig files above a physical path set a property to for it, or "". The nearest file wins,
// and in a file the last section that matches. Files outside the workspace are not looked at.
func (w *Workspace) editorConfig(path, property string) string {
	root := w.rootOf(path)
	if root == "" {
		return ""
	}
	for dir := filepath.Dir(path); len(dir) >= len(root); dir = filepath.Dir(dir) {
		raw, err := readHead(w.fs, filepath.Join(dir, ".editorconfig"), maxEditorConfig)
		if err == nil {
			rel, _ := filepath.Rel(dir, path)
			value, top := editorConfigValue(string(raw), filepath.ToSlash(rel), property)
			if value != "" || top {
				return value
			}
		}
		if dir == root {
			break
		}
	}
	return ""
}

// editorConfigValue reads one file. top says that no file above it counts.
func editorConfigValue(text, rel, property string) (value string, top bool) {
	applies, preamble := false, true
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' && strings.HasSuffix(line, "]") {
			preamble, applies = false, sectionMatches(line[1:len(line)-1], rel)
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		key, v = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(v)
		switch {
		case !ok:
		case preamble && key == "root":
			top = strings.EqualFold(v, "true")
		case applies && key == property && strings.EqualFold(v, "unset"):
			value = ""
		case applies && key == property:
			value = v
		}
	}
	return value, top
}

// Encoding returns the encoding of the file at a physical path: the one that the agent chose
// earlier, otherwise one derived from the bytes, from declarations and, if in doubt, from the
// project's other files. raw may be just a sufficiently long beginning of the file.
func (w *Workspace) Encoding(agent, path string, raw []byte) (textfile.Encoding, error) {
	if seen, ok := w.Seen(agent).Get(path); ok && seen.Given {
		if enc, err := textfile.Lookup(seen.Encoding); err == nil && enc.Reads(raw) {
			return enc.For(raw), nil
		}
	}
	if isASCII(raw) { // no hint can make it anything else
		return textfile.DetectWith(raw, textfile.Hints{})
	}
	return textfile.DetectWith(raw, w.hints(path))
}

func isASCII(raw []byte) bool {
	for _, c := range raw {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// SearchText returns the text of a file that is not UTF-8, for a search; ok is false for a
// file that is not text, or that is UTF-8 except for a few bytes. It does not consult other
// files, because a search may ask for thousands.
func (w *Workspace) SearchText(path string, raw []byte) (d search.Decoded, ok bool) {
	hints := w.hints(path)
	hints.Others = nil
	enc, err := textfile.DetectWith(raw, hints)
	if err != nil || enc.UTF8() {
		return d, false
	}
	return search.Decoded{Text: textfile.Decode(raw, enc).Bytes(), Doubtful: enc.Unsure(), Volatile: hints.Charset != nil}, true
}

// hints are what the project says of the encoding of a file.
func (w *Workspace) hints(path string) textfile.Hints {
	h := textfile.Hints{Others: func() []string { return w.encodingsBeside(path) }}
	if label := w.editorConfig(path, "charset"); label != "" {
		if enc, err := textfile.Lookup(label); err == nil {
			h.Charset = new(enc.From(".editorconfig"))
		}
	}
	return h
}

// encodingsBeside returns the legacy encodings of files with the same extension in the folder, in those below it and then in those
// above it up to the project's root, the most frequent first. Only encodings that are certain count.
func (w *Workspace) encodingsBeside(path string) []string {
	root := w.rootOf(path)
	if root == "" {
		return nil
	}
	s := survey{fs: w.fs, ext: filepath.Ext(path), skip: path, found: map[string]int{}, done: map[string]bool{}}
	for dir := filepath.Dir(path); len(dir) >= len(root); dir = filepath.Dir(dir) {
		s.below(dir)
		if len(s.found) > 0 || dir == root {
			break
		}
	}
	return slices.SortedFunc(maps.Keys(s.found), func(a, b string) int {
		return cmp.Or(s.found[b]-s.found[a], strings.Compare(a, b))
	})
}

// rootOf returns the directory of the workspace that holds a physical path, or "".
func (w *Workspace) rootOf(path string) string {
	for _, root := range w.guard.Roots() {
		if strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/") {
			return root
		}
	}
	return ""
}

// stream opens a regular file for reading. The caller closes it. For anything but a regular
// file it returns a *Refusal: opening a FIFO or a device could hang or never end.
func (w *Workspace) stream(f guard.Facts) (disk.File, disk.Info, error) {
	if err := w.readable(f); err != nil {
		return nil, disk.Info{}, err
	}
	dir, err := w.fs.OpenDir(filepath.Dir(f.Real))
	if err != nil {
		return nil, disk.Info{}, w.openError(f, err)
	}
	defer dir.Close()
	file, err := dir.Open(filepath.Base(f.Real), os.O_RDONLY, 0)
	if err != nil {
		return nil, disk.Info{}, w.openError(f, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode.IsRegular() {
		err = refuse(NotAFile, "%s is now a %s, not a file.", f.Path, guard.Facts{Exists: true, Info: info}.Kind())
	}
	if err != nil {
		file.Close()
		return nil, disk.Info{}, err
	}
	return file, info, nil
}

// Load reads a whole file.
func (w *Workspace) Load(f guard.Facts) (*File, error) {
	in, info, err := w.stream(f)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if info.Size > maxLoad {
		return nil, refuse(TooLarge, "%s has %d bytes; files over %d bytes are not edited. Use Bash with sed or a script.", f.Path, info.Size, maxLoad)
	}
	raw := make([]byte, info.Size)
	n, err := io.ReadFull(in, raw)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("could not read %s: %w", f.Path, err)
	}
	out := &File{Path: f.Real, Info: info, Raw: raw[:n]}
	out.Hash = blob.Digest(out.Raw)
	enc, err := textfile.DetectWith(out.Raw, w.hints(f.Real))
	if err != nil {
		out.Kind = err
		return out, nil
	}
	out.Text = textfile.Decode(out.Raw, enc)
	return out, nil
}

// Saw records that an agent was shown lines of a file.
func (w *Workspace) Saw(agent string, e readstate.Entry) {
	state := w.Seen(agent)
	before, known := state.Get(e.Path)
	state.Put(e)
	if w.onRead == nil {
		return
	}
	if now, _ := state.Get(e.Path); !known || now.Hash != before.Hash || !slices.Equal(now.Ranges, before.Ranges) {
		now.Base = nil
		w.onRead(agent, now)
	}
}

// openError words what can go wrong between looking at a file and opening it.
func (w *Workspace) openError(f guard.Facts, err error) error {
	switch {
	case errors.Is(err, disk.ErrLink):
		return refuse(Swapped, "%s was replaced by a symbolic link while it was being opened. Nothing was read or written. Check the path before you try again.", f.Path)
	case errors.Is(err, fs.ErrNotExist):
		return w.missing(f)
	case errors.Is(err, fs.ErrPermission):
		return refuse(NoPermission, "Permission denied: %s cannot be opened by this user.", f.Path)
	}
	return fmt.Errorf("could not open %s: %w", f.Path, err)
}

// turn waits until nobody else changes the file at a physical path, and keeps others waiting until release is called. The path
// is locked, so that a file that is not there yet has one maker, and then the file itself, which may have other names.
func (w *Workspace) turn(ctx context.Context, path string) (release func(), err error) {
	releasePath, err := w.turns.take(ctx, "path", path)
	if err != nil {
		return nil, w.busy(err, path)
	}
	for {
		file := w.identity(path)
		if file == "" {
			return releasePath, nil
		}
		releaseFile, err := w.turns.take(ctx, "file", file)
		if err != nil {
			releasePath()
			return nil, w.busy(err, path)
		}
		if w.identity(path) == file {
			return func() { releaseFile(); releasePath() }, nil
		}
		releaseFile() // replaced under another name of its directory while we waited
	}
}

// identity names the file at a path whatever it is called, or returns "" if there is none.
func (w *Workspace) identity(path string) string {
	info, err := w.fs.Lstat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", info.Dev, info.Ino)
}

func (w *Workspace) busy(err error, path string) error {
	if err == errBusy {
		return refuse(Busy, "Another process is changing %s and has not finished. Nothing was written. Send this call again.", path)
	}
	return fmt.Errorf("could not lock %s: %w", path, err)
}

// Pin remembers where a path leads for a call that is being judged.
func (w *Workspace) Pin(call string, f guard.Facts) {
	w.pins.mu.Lock()
	defer w.pins.mu.Unlock()
	if w.pins.facts == nil {
		w.pins.facts = map[pin]*guard.Facts{}
	}
	k := pin{call, f.Given} // what f.Path is depends on the links
	if _, ok := w.pins.facts[k]; !ok {
		w.pins.order = append(w.pins.order, k)
	}
	w.pins.facts[k] = &f
	if len(w.pins.order) > maxPins {
		delete(w.pins.facts, w.pins.order[0])
		w.pins.order = w.pins.order[1:]
	}
}

// LookPinned looks at a path for a call that is about to run, and refuses it if the path now
// leads somewhere else than when the call was judged.
func (w *Workspace) LookPinned(call, path string) (guard.Facts, error) {
	f := w.Look(path)
	if was := w.pinned(call, path); was != nil && was.Real != f.Real {
		return f, refuse(Swapped, "%s led to %s when this call was allowed and now leads to %s. Nothing was read or written. Check the path before you try again.", f.Path, was.Real, f.Real)
	}
	return f, nil
}

// StreamPinned is LookPinned and [Workspace.Stream]. A path that was judged and had no links is opened without another look:
// the kernel refuses a link that has appeared since, and then there is another look, which tells.
func (w *Workspace) StreamPinned(call, path, param string) (guard.Facts, disk.File, disk.Info, error) {
	if f, file, info, ok := w.openJudged(call, path); ok {
		return f, file, info, nil
	}
	f, err := w.LookPinned(call, path)
	if err == nil {
		err = w.CheckPath(f, param)
	}
	if err != nil {
		return f, nil, disk.Info{}, err
	}
	file, info, err := w.stream(f)
	return f, file, info, err
}

// openJudged opens what a call was judged by, if that is still a file without links.
func (w *Workspace) openJudged(call, path string) (f guard.Facts, file disk.File, info disk.Info, ok bool) {
	fs, can := w.fs.(interface {
		OpenDirect(path string) (disk.File, bool)
	})
	was := w.pinned(call, path)
	if !can || was == nil || !was.Direct() {
		return f, nil, info, false
	}
	if file, ok = fs.OpenDirect(path); !ok {
		return f, nil, info, false
	}
	info, err := file.Stat()
	if err != nil || !info.Mode.IsRegular() {
		file.Close()
		return f, nil, info, false
	}
	f = *was
	f.Info = info
	return f, file, info, true
}

func (w *Workspace) pinned(call, path string) *guard.Facts {
	w.pins.mu.Lock()
	defer w.pins.mu.Unlock()
	return w.pins.facts[pin{call, path}]
}

// checkSeen refuses a change of what the agent was not shown. An edit needs a file of which it saw anything; a whole new content
// replaces every line, so that every line must have been seen.
func (w *Workspace) checkSeen(ctx context.Context, r Revision, f *File, seen readstate.Entry, ok bool) error {
	switch {
	case len(f.Raw) == 0, r.Unseen: // there is nothing to see; or a program makes the change, of whatever is there
		return nil
	case !ok, len(seen.Ranges) == 0 && seen.Size > 0:
		return refuse(Unread, "%s has not been read yet. Read it first, then send this call again.", r.Path.Path)
	case !r.Whole:
		return nil
	}
	text := f.Text
	if seen.Hash != f.Hash {
		if text = w.base(ctx, r.Agent, seen); text == nil {
			return nil // nobody knows what was there; see fitNow
		}
	}
	gap, ok := firstGap(seen.Ranges, len(text.Lines()))
	if !ok {
		return nil
	}
	return refuse(Unread, "%s has been read only in part: lines %d-%d have not been shown, and new content for the whole file would drop them. Call Read with file_path %q, offset %d and limit %d, then send this call again; or change the part you know with Edit.",
		r.Path.Path, gap.From, gap.To, r.Path.Path, gap.From, gap.To-gap.From+1)
}

// firstGap returns the first run of lines up to n that ascending ranges leave out.
func firstGap(ranges []readstate.Range, n int) (readstate.Range, bool) {
	next := 1
	for _, r := range ranges {
		if r.From > next {
			n = min(n, r.From-1)
			break
		}
		next = r.To + 1
	}
	return readstate.Range{From: next, To: n}, next <= n
}

// base returns what an agent has read as text, or nil if it is no longer at hand.
func (w *Workspace) base(ctx context.Context, agent string, seen readstate.Entry) *textfile.Text {
	raw := seen.Base
	if raw == nil { // the read state had no room for it; a write may have kept it
		raw, _ = w.blobs.Get(ctx, seen.Hash)
	}
	if raw == nil {
		return nil
	}
	enc, err := w.Encoding(agent, seen.Path, raw)
	if err != nil {
		return nil
	}
	return textfile.Decode(raw, enc)
}

// known returns what the agent knows of the content that a revision left: all of what it wrote, else the lines it had seen,
// where they are now, and those that the result shows.
func (w *Workspace) known(r Revision, o *Outcome) []readstate.Range {
	if r.Whole || o.Before == nil {
		return []readstate.Range{Whole}
	}
	seen, ok := w.Seen(r.Agent).Get(o.Path)
	switch {
	case !ok:
		return nil
	case o.Stale && o.Foreign == nil:
		return moved(nil, o.Hunks, ShownHunks)
	}
	return moved(moved(seen.Ranges, o.Foreign, len(o.Foreign)), o.Hunks, ShownHunks)
}

// remember notes the content that a revision left as known to its agent, as far as it is.
func (w *Workspace) remember(r Revision, o *Outcome, e readstate.Entry) {
	if e.Ranges = w.known(r, o); len(e.Ranges) > 0 || e.Size == 0 {
		w.Saw(r.Agent, e)
	}
}

// plan finds the new content of a file that exists.
func (w *Workspace) plan(ctx context.Context, r Revision, f *File) ([]byte, *Outcome, error) {
	seen, ok := w.Seen(r.Agent).Get(f.Path)
	if err := w.checkSeen(ctx, r, f, seen, ok); err != nil {
		return nil, nil, err
	}
	if ok && !r.Unseen && seen.Hash != f.Hash {
		if r.OnConflict == Overwrite && seen.Conflict != f.Hash {
			r.OnConflict = Refuse // nobody has seen what it would overwrite
		}
		raw, o, err := w.reconcile(r, f, w.base(ctx, r.Agent, seen))
		if err != nil {
			err = &changedError{err, f.Hash}
		}
		return raw, o, err
	}
	raw, notes, err := r.Make(f.Text)
	return raw, &Outcome{Notes: notes}, err
}

// Told notes that the agent is told why a revision was refused. It may overwrite what it was told
// of, and no later change.
func (w *Workspace) Told(r Revision, err error) {
	var changed *changedError
	if !errors.As(err, &changed) {
		return
	}
	state := w.Seen(r.Agent)
	if seen, ok := state.Get(r.Path.Real); ok {
		seen.Conflict = changed.disk
		state.Put(seen)
	}
}

// reconcile finds the new content of a file that another program changed since it was read. was is what was read, or nil if that
// is no longer at hand.
func (w *Workspace) reconcile(r Revision, f *File, was *textfile.Text) ([]byte, *Outcome, error) {
	if was == nil {
		return fitNow(r, f, nil)
	}
	foreign := difference(was, f.Text)
	ours, notes, err := r.Make(was)
	if err != nil || was.Encoding().String() != f.Text.Encoding().String() {
		// The edit does not fit what was read: perhaps it was made for what is there now. Or no line has the bytes it had.
		return fitNow(r, f, foreign)
	}
	m := merge.Lines(was.Lines(), textfile.Decode(ours, was.Encoding()).Lines(), f.Text.Lines())
	merged := m.Bytes()
	switch {
	case m.Clean(), r.OnConflict == Overwrite:
	case r.OnConflict == Refuse && fits(r, f, m.ByWords()):
		merged = m.ByWords().Bytes()
	case r.OnConflict == Markers && r.Check == nil:
		if merged, err = marked(m, f.Text); err != nil {
			return nil, nil, err
		}
	default:
		return nil, nil, &conflictError{Path: r.Path.Path, Foreign: foreign, Hunks: describe(m, f.Text.Encoding()), NoMarkers: r.Check != nil}
	}
	if r.Check != nil && r.Check(textfile.Decode(merged, f.Text.Encoding())) != nil {
		return nil, nil, refuse(Stale, "%s has changed since it was read, and merging both changes would break it. Nothing was written. Read it again.", r.Path.Path)
	}
	return merged, &Outcome{Stale: true, Foreign: foreign, Notes: notes}, nil
}

// fits reports whether a merge is what the revision makes of the file as it is: then both changes are on one line, and the
// edit is found there as it was written.
func fits(r Revision, f *File, m merge.Result) bool {
	if r.Whole || !m.Clean() {
		return false
	}
	raw, _, err := r.Make(f.Text)
	return err == nil && bytes.Equal(raw, m.Bytes())
}

// marked writes conflict markers in the file's encoding, after its byte-order mark.
func marked(m merge.Result, t *textfile.Text) ([]byte, error) {
	enc := t.Encoding()
	if !enc.Wide() && len(enc.BOM()) == 0 {
		return m.Marked("edit", "disk"), nil
	}
	b, err := enc.Encode(string(decodeChunks(m, enc).Marked("edit", "disk")))
	return append(enc.BOM(), b...), err
}

// describe prints the conflicting chunks only, with markers and line numbers.
func describe(m merge.Result, enc textfile.Encoding) string {
	const most = 5
	var b strings.Builder
	conflicts := decodeChunks(m, enc).Conflicts()
	for i, c := range conflicts {
		if i == most {
			fmt.Fprintf(&b, "… and %d more\n", len(conflicts)-most)
			break
		}
		c.Ours, c.Theirs = clip(c.Ours), clip(c.Theirs)
		fmt.Fprintf(&b, "at line %d of the file as it was read:\n%s", c.BaseLine+1, merge.Result{Chunks: []merge.Chunk{c}}.Marked("edit", "disk"))
	}
	return b.String()
}

// Fresh reports whether an agent knows the current content of a text file.
func (w *Workspace) Fresh(agent string, path guard.Facts) bool {
	seen, ok := w.Seen(agent).Get(path.Real)
	if !ok {
		return false
	}
	f, err := w.Load(path)
	return err == nil && f.Hash == seen.Hash
}

// Refresh is for changes made on behalf of an agent, for example by a hook that formats what
// the agent wrote: they do not count as another program's changes. From now on the agent is
// considered to know the current content. Refresh returns the difference, which the agent
// should be shown; it is nil if nothing has changed or nothing can be compared.
func (w *Workspace) Refresh(ctx context.Context, agent string, path guard.Facts) ([]patch.Hunk, error) {
	release, err := w.turn(ctx, path.Real)
	if err != nil {
		return nil, err
	}
	defer release()
	f, err := w.Load(path)
	if err != nil {
		return nil, err
	}
	w.decodeAs(Revision{Agent: agent}, f)
	seen, ok := w.Seen(agent).Get(f.Path)
	if !ok || seen.Hash == f.Hash || f.Text == nil {
		return nil, nil
	}
	was := w.base(ctx, agent, seen)
	if was == nil {
		return nil, nil
	}
	hunks := difference(was, f.Text)
	e := f.entry(moved(seen.Ranges, hunks, len(hunks))...)
	e.Given = seen.Given
	w.Saw(agent, e)
	return hunks, nil
}

// CheckPath refuses a path that is not absolute and suggests the one that was probably meant.
// param is the name of the input field.
func (w *Workspace) CheckPath(f guard.Facts, param string) error {
	switch {
	case f.Malformed != "":
		return refuse(Malformed, "%s is not a usable path: %s.", param, f.Malformed)
	case f.Relative:
		return refuse(Relative, "%s must be absolute. Use %s instead of %s.", param, f.Path, f.Given)
	}
	return nil
}

// readable refuses what cannot be opened as a file.
func (w *Workspace) readable(f guard.Facts) error {
	switch kind := f.Kind(); {
	case f.Malformed != "":
		return refuse(Malformed, "This is not a usable path: %s.", f.Malformed)
	case errors.Is(f.Err, guard.ErrTooManyLinks):
		return refuse(NotAFile, "%s has too many symbolic links in its path.", f.Path)
	case errors.Is(f.Err, guard.ErrLost):
		return refuse(Malformed, "%s is not a usable path: it has a .. after something that is not a directory. If you mean %s, use that path.", f.Given, f.Real)
	case errors.Is(f.Err, fs.ErrPermission):
		return refuse(NoPermission, "Permission denied: %s cannot be reached by this user.", f.Path)
	case errors.Is(f.Err, syscall.ENOTDIR):
		return refuse(Missing, "File does not exist: %s. Part of its path is a file, not a directory.", f.Path)
	case kind == "missing":
		return w.missing(f)
	case kind == "directory":
		return refuse(IsDirectory, "%s is a directory, not a file. Use Glob with the pattern %s to list its files.", f.Path, filepath.Join(f.Path, "*"))
	case kind != "file":
		return refuse(NotAFile, "%s is a %s, not a file. Opening it may block forever, so it was not opened. Use Bash with a timeout instead.", f.Path, kind)
	}
	return nil
}

// missing says that there is no file, where it was looked for, and what is there instead.
func (w *Workspace) missing(f guard.Facts) error {
	if n := len(f.Links); n > 0 {
		return refuse(Missing, "File does not exist: %s is a symbolic link to %s, which is missing.", f.Path, f.Real)
	}
	text := "File does not exist: " + f.Path + "."
	if near := w.similar(f); len(near) > 0 {
		text += " Did you mean " + strings.Join(near, " or ") + "?"
	} else {
		text += " The working directory is " + w.guard.Cwd() + "."
	}
	return &Refusal{Missing, text}
}

// Revise changes a file, or returns an error and leaves every byte of it as it was. Errors for
// the model are *Refusal, *edits.Refusal, *ConflictError, *textfile.RepertoireError and those
// of package atomic.
func (w *Workspace) Revise(ctx context.Context, r Revision) (*Outcome, error) {
	release, err := w.turn(ctx, r.Path.Real)
	if err != nil {
		return nil, err
	}
	defer release()
	o, f, err := w.draft(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.Approve != nil {
		if err := r.Approve(o); err != nil {
			return nil, err
		}
	}
	if f != nil && bytes.Equal(o.After.Raw(), f.Raw) {
		e := f.entry()
		e.Given = w.given(r)
		w.remember(r, o, e)
		return o, nil
	}
	if err := w.store(ctx, r, f, o); err != nil {
		return nil, err
	}
	return o, nil
}

// Preview returns what Revise would do now, and does not do it.
func (w *Workspace) Preview(ctx context.Context, r Revision) (*Outcome, error) {
	o, _, err := w.draft(ctx, r)
	return o, err
}

// draft makes the new content, and returns it with the file as it is, which is nil if there is none.
func (w *Workspace) draft(ctx context.Context, r Revision) (*Outcome, *File, error) {
	f, err := w.Load(r.Path)
	var no *Refusal
	if r.Create && errors.As(err, &no) && no.Code == Missing && r.Path.Err == nil {
		raw, notes, err := r.Make(nil)
		if err != nil {
			return nil, nil, err
		}
		if _, seen := w.Seen(r.Agent).Get(r.Path.Real); seen {
			notes = append(notes, "the file was deleted after it was read; it has been created again.")
		}
		after, err := w.fresh(r, raw)
		if err != nil {
			return nil, nil, err
		}
		return &Outcome{Path: r.Path.Real, Spelled: r.Path.Path, After: after, Notes: notes, Hunks: patch.Diff(nil, after.Bytes(), contextLines)}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	w.decodeAs(r, f)
	if f.Kind != nil {
		return nil, nil, refuse(Binary, "%s is not a text file (%s), so it was not changed. To change it, use Bash.", r.Path.Path, kindOf(f.Kind))
	}
	raw, o, err := w.plan(ctx, r, f)
	if err != nil {
		return nil, nil, err
	}
	o.Path, o.Spelled, o.Before, o.Mode = f.Path, r.Path.Path, f.Text, f.Info.Mode
	o.After = textfile.Decode(raw, f.Text.Encoding())
	o.Hunks = difference(f.Text, o.After)
	if r.Path.IsLink() {
		o.Notes = append(o.Notes, fmt.Sprintf("%s leads through a symbolic link to %s, which is the file that is changed.", r.Path.Path, f.Path))
	}
	if f.Info.Mode&0o222 == 0 && len(o.Hunks) > 0 {
		o.Notes = append(o.Notes, "the file is marked read-only ("+f.Info.Mode.Perm().String()+"); it was changed anyway and keeps its mode.")
	}
	return o, f, nil
}

func kindOf(err error) string {
	var b *textfile.BinaryError
	if errors.As(err, &b) {
		return b.Kind
	}
	return err.Error()
}

// fresh is the text of a new file, in the encoding that the call, the text itself or the project names for it.
func (w *Workspace) fresh(r Revision, content []byte) (*textfile.Text, error) {
	enc := textfile.Encoding{}
	if declared, ok := textfile.Declared(content); ok {
		enc = declared
	} else if set := w.hints(r.Path.Real).Charset; set != nil {
		enc = *set
	}
	if r.Encoding != nil {
		enc = *r.Encoding
	}
	raw, err := enc.Encode(string(content))
	if err != nil {
		return nil, err
	}
	return textfile.Decode(append(enc.BOM(), raw...), enc), nil
}

// decodeAs reads the file in the encoding that the agent said, now or when it read it.
func (w *Workspace) decodeAs(r Revision, f *File) {
	enc := r.Encoding
	if seen, ok := w.Seen(r.Agent).Get(f.Path); enc == nil && ok && seen.Given {
		if said, err := textfile.Lookup(seen.Encoding); err == nil && said.Reads(f.Raw) {
			enc = &said
		}
	}
	if enc != nil {
		f.Text, f.Kind = textfile.Decode(f.Raw, enc.For(f.Raw)), nil
	}
}

// store keeps what is replaced, announces the change, writes, and remembers the new content as read.
func (w *Workspace) store(ctx context.Context, r Revision, before *File, o *Outcome) error {
	raw := o.After.Raw()
	digest := blob.Digest(raw)
	change := Change{Agent: r.Agent, Path: r.Path.Real, After: digest}
	var old *disk.Info
	if before != nil {
		old = &before.Info
		change.Before, change.Mode = before.Hash, before.Info.Mode
		if err := w.blobs.Put(ctx, before.Hash, before.Raw); err != nil {
			return w.cannotKeep(err, r.Path.Real, len(before.Raw))
		}
	}
	if w.onChange != nil {
		if err := w.onChange(ctx, change); err != nil {
			return err
		}
	}
	info, err := w.writer.Write(ctx, atomic.File{Path: r.Path.Real, Data: raw, Old: old})
	if err != nil {
		return w.explain(err, r.Path.Real)
	}
	w.remember(r, o, readstate.Entry{Path: r.Path.Real, Hash: digest, Size: info.Size, ModTime: info.ModTime,
		Encoding: o.After.Encoding().String(), EOL: string(o.After.EOL()), Base: raw, Given: w.given(r)})
	return nil
}

// given reports whether the agent said how the file is encoded.
func (w *Workspace) given(r Revision) bool {
	seen, ok := w.Seen(r.Agent).Get(r.Path.Real)
	return r.Encoding != nil || ok && seen.Given
}

// SawLines records that an agent knows a range of lines of a file, if the shown text contains
// exactly these lines in order, and reports whether it does. Lines are counted from 1, or from
// the end if negative.
func (w *Workspace) SawLines(agent string, f guard.Facts, from, to int, shown string) bool {
	if f.Info.Size > maxShown || f.Verdict(guard.Read).Decision != guard.Allow {
		return false
	}
	file, err := w.Load(f)
	if err != nil || file.Text == nil || len(file.Raw) == 0 {
		return false
	}
	lines := file.Text.Lines()
	if from, to, err = place(from, len(lines)), min(place(to, len(lines)), len(lines)), nil; from < 1 || from > to {
		return false
	}
	var part []byte
	for _, l := range lines[from-1 : to] {
		part = append(append(part, bytes.TrimRight(l, "\r\n")...), '\n')
	}
	if !bytes.Contains([]byte("\n"+shown+"\n"), append([]byte("\n"), part...)) {
		return false
	}
	r := readstate.Range{From: from, To: to}
	if from == 1 && to == len(lines) {
		r = Whole
	}
	w.Saw(agent, file.entry(r))
	return true
}

// similar returns up to three existing files that a missing path may have meant: the same path below the project, or a file
// beside it with nearly the same name.
func (w *Workspace) similar(f guard.Facts) []string {
	if p := w.belowRoot(f.Path); p != "" {
		return []string{p}
	}
	dir, base := filepath.Split(f.Real)
	entries, err := w.fs.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil
	}
	var names, out []string
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	const most = 5000
	for _, e := range entries[:min(len(entries), most)] {
		if strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())) == stem {
			out = append(out, e.Name()) // the same name with another extension
		} else {
			names = append(names, e.Name())
		}
	}
	out = append(near.Names(base, names, 3), out...)
	out = out[:min(len(out), 3)]
	for i := range out {
		out[i] = filepath.Join(filepath.Dir(f.Path), out[i])
	}
	return out
}

// belowRoot finds a tail of the path that exists under a root, as when a directory in the middle was made up.
func (w *Workspace) belowRoot(path string) string {
	parts := strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
	for i := 1; i < len(parts); i++ {
		for _, root := range w.guard.Roots() {
			p := filepath.Join(root, filepath.Join(parts[i:]...))
			if info, err := w.fs.Lstat(p); err == nil && info.Mode.IsRegular() {
				return p
			}
		}
	}
	return ""
}

// Unsaved returns the bytes that a file would have if the user saved it in their editor, and
// whether they differ from its bytes on disk, which are raw in the encoding enc. A difference
// in line endings alone does not count, because editors hold text without them. Text that the
// encoding cannot represent could not be saved, and is ignored.
func (w *Workspace) Unsaved(ctx context.Context, path string, raw []byte, enc textfile.Encoding) ([]byte, bool) {
	if w.unsaved == nil {
		return nil, false
	}
	text, ok := w.unsaved(ctx, path)
	if !ok {
		return nil, false
	}
	saved := textfile.Decode(raw, enc)
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.ReplaceAll(text, "\r\n", "\n") == strings.ReplaceAll(string(saved.Bytes()), "\r\n", "\n") {
		return nil, false
	}
	if saved.EOL() == textfile.CRLF {
		text = textfile.WithEndings(text, "\r\n")
	}
	body, err := enc.Encode(text)
	if err != nil {
		return nil, false
	}
	return append(enc.BOM(), body...), true
}
