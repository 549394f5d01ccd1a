package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/search/ignore"
	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/workspace"
)

// Options bound what is covered.
type Options struct {
	// MaxFiles is how many files, links and directories are looked at; with more,
	// only what file tools do is covered. 0 means 50,000.
	MaxFiles int
	// MaxFileSize is the largest file that is kept; 0 means 16 MB.
	MaxFileSize int64
	// MaxBytes is how much one look may add to what is kept; 0 means 1 GB.
	MaxBytes int64
	// FileTools are the names of tools that change files only through the
	// workspace, which tells of each change: the tree need not be looked at for
	// them.
	FileTools []string
	// Noted reports whether what a call changes is recorded by another way, so that
	// the tree need not be looked at for it; nil means of none.
	Noted func(call string) bool
	// Exclude are directories that are not looked at.
	Exclude []string
	// Blobs keeps contents; nil means the session's.
	Blobs blob.Store

	ignored ignore.Global
}

// A Keeper notes how files were before calls change them.
type Keeper struct {
	root    string
	session *session.Session
	opts    Options

	mu     sync.Mutex
	last   *tree                      // the latest look
	saved  *tree                      // the look that is on the disk
	before map[string]*tree           // by call, while it runs
	calls  map[string]string          // the call that may be changing files, by agent
	wrote  map[string]map[string]File // what file tools made of files, by call and path
	will   map[string]map[string]File // files that calls name and the looks do not cover, as they were
	noted  string                     // the latest note of what is not covered
}

// New returns a keeper for the tree at root. What it notes goes to the session.
func New(root string, s *session.Session, opts *Options) *Keeper {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.MaxFiles = cmp.Or(o.MaxFiles, 50_000)
	o.MaxFileSize = cmp.Or(o.MaxFileSize, 16<<20)
	o.MaxBytes = cmp.Or(o.MaxBytes, 1<<30)
	if o.Blobs == nil {
		o.Blobs = s.Blobs()
	}
	o.ignored = ignore.LoadGlobal(os.Getenv)
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if s.Path() != "" {
		o.Exclude = append(slices.Clip(o.Exclude), filepath.Dir(filepath.Dir(s.Path())))
	}
	return &Keeper{root: root, session: s, opts: o, before: map[string]*tree{}, calls: map[string]string{}, wrote: map[string]map[string]File{}, will: map[string]map[string]File{}}
}

// Recorder returns a recorder that notes what calls change and tells next, if
// there is one, of everything.
func (k *Keeper) Recorder(next sched.Recorder) sched.Recorder { return &recorder{k, next} }

type recorder struct {
	keeper *Keeper
	next   sched.Recorder
}

// Record implements [sched.Recorder]. What a call changed is noted before its
// result is.
func (r *recorder) Record(ctx context.Context, rec sched.Record) error {
	switch {
	case rec.Step == sched.Dispatched && !rec.Marks.ReadOnly:
		if err := r.keeper.look(ctx, rec.Call.Agent, rec.Call.ID, rec.Call.Tool); err != nil {
			return err
		}
		if err := r.keeper.named(ctx, rec.Call, rec.Paths.Writes); err != nil {
			return err
		}
	case rec.Step == sched.Finished:
		if err := r.keeper.After(ctx, rec.Outcome.Agent, rec.Outcome.CallID); err != nil {
			return err
		}
	}
	if r.next == nil {
		return nil
	}
	return r.next.Record(ctx, rec)
}

// OnChange is for [workspace.Options]: it notes a change by a file tool. The file
// still is as it was, so that its content can be kept here, whatever store the
// workspace has.
func (k *Keeper) OnChange(ctx context.Context, c workspace.Change) error {
	if k.opts.Blobs == nil {
		return nil
	}
	k.mu.Lock()
	call := k.calls[c.Agent]
	looked := k.before[call]
	k.mu.Unlock()
	if looked != nil && looked.covers(k.root, c.Path) {
		return nil // it will be found when the call ends
	}
	if c.Before != "" {
		content, err := os.ReadFile(c.Path)
		if err != nil || blob.Digest(content) != c.Before {
			return nil // it changes under us: the workspace finds that out and refuses
		}
		if err := k.opts.Blobs.Put(ctx, c.Before, content); err != nil {
			return err
		}
	}
	before := File{Digest: c.Before, Mode: c.Mode}
	after := File{Digest: c.After, Mode: cmp.Or(c.Mode, newFileMode)}
	cp := checkpointOf(call, c.Path, before, after)
	k.mu.Lock()
	if k.wrote[call] == nil {
		k.wrote[call] = map[string]File{}
	}
	k.wrote[call][c.Path] = after
	delete(k.will[call], c.Path) // noted here
	k.mu.Unlock()
	return k.session.Append(ctx, session.Entry{Checkpoint: &cp})
}

// formatted notes what a hook, such as a formatter, has made of the files that a
// call wrote: it belongs to the call and is nobody else's change.
func (k *Keeper) formatted(ctx context.Context, call string) error {
	files := k.wrote[call]
	delete(k.wrote, call)
	var entries []session.Entry
	for path, wrote := range files {
		now, _, err := lookAt(path)
		if err != nil || now.sameContent(wrote) {
			continue
		}
		cp := checkpointOf(call, path, wrote, now)
		entries = append(entries, session.Entry{Checkpoint: &cp})
	}
	return k.session.Append(ctx, entries...)
}

// newFileMode stands for the mode of a file that is about to be made.
const newFileMode = 0o644

// look looks at the tree before a call. A tree that cannot be looked at is no
// reason not to run: it is noted as not covered.
func (k *Keeper) look(ctx context.Context, agent, call, tool string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls[agent] = call
	if k.opts.Blobs == nil || slices.Contains(k.opts.FileTools, tool) || k.opts.Noted != nil && k.opts.Noted(call) {
		return nil
	}
	t, err := k.scan(ctx)
	if err != nil {
		return k.note(ctx, fmt.Sprintf("what %s changes is not covered: %v", tool, err))
	}
	k.before[call] = t
	if err := k.open(call, t); err != nil {
		return k.note(ctx, fmt.Sprintf("what %s changes is not covered if haft is killed: %v", tool, err))
	}
	return k.note(ctx, uncovered(t, &k.opts))
}

// After notes what a call has changed.
func (k *Keeper) After(ctx context.Context, agent, call string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.calls[agent] == call {
		delete(k.calls, agent)
	}
	if err := k.formatted(ctx, call); err != nil {
		return err
	}
	if err := k.namedNow(ctx, call); err != nil {
		return err
	}
	before := k.before[call]
	if before == nil {
		return nil
	}
	delete(k.before, call)
	return k.compare(ctx, before, call)
}

func (k *Keeper) compare(ctx context.Context, before *tree, call string) error {
	now, err := k.scan(ctx)
	if err != nil {
		return k.note(ctx, fmt.Sprintf("what call %s changed is not covered: %v", call, err))
	}
	if err := k.session.Append(ctx, before.diff(now, k.root, call)...); err != nil {
		return err
	}
	k.done(call)
	return nil
}

// scan looks at the tree.
func (k *Keeper) scan(ctx context.Context) (*tree, error) {
	if k.last == nil {
		k.last = cmp.Or(loadTree(k.projectTree()), &tree{})
	}
	s := scan{root: k.root, opts: &k.opts, exclude: k.opts.Exclude, last: k.last}
	t, err := s.run(ctx)
	if err == nil {
		k.last = t
	}
	return t, err
}

// note writes down what is not covered, if that is news.
func (k *Keeper) note(ctx context.Context, text string) error {
	if text == k.noted {
		return nil
	}
	k.noted = text
	value, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return k.session.Append(ctx, session.Entry{State: &session.State{Name: uncoveredState, Value: value}})
}

// uncoveredState is the session's state that says what a rewind does not cover.
const uncoveredState = "checkpoint.uncovered"

func uncovered(t *tree, o *Options) string {
	switch {
	case t.TooMany:
		return fmt.Sprintf("there are more than %d files: what commands change is not covered, only what file tools do", o.MaxFiles)
	case t.Count == 1:
		return fmt.Sprintf("%s is too large or cannot be read", t.Missed[0])
	case t.Count > 1:
		return fmt.Sprintf("%d files are too large or cannot be read, %s among them", t.Count, t.Missed[0])
	}
	return ""
}
