package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/secret"
	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// Options bound what is covered.
type Options struct {
	// MaxFiles is how many files, links and directories are looked at; with more,
	// only what file tools do is covered. 0 means 50,000.
	MaxFiles int
	// MaxFileSize is the largest file that is kept; 0 means 16 MB.
	MaxFileSize int64
	// MaxBytes is how much of a tree is kept beside what git has; 0 means 64 MB.
	MaxBytes int64
	// MaxTime is how long one look may take; 0 means 5 s.
	MaxTime time.Duration
	// Home is the user's home directory, which is not looked at as a whole; "" means
	// that of the process's user.
	Home string
	// Writes returns the absolute paths that a command is known to write, which the
	// tool itself does not say; nil means none.
	Writes func(*tool.Call) []string
	// Tell is told of bounds that are reached, once each; nil means nobody is.
	Tell func(text string)
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
	told   map[string]bool
	off    *tree       // set once nothing can be looked at: finding that out again costs as much as the first time
	repo   *repository // as of the latest look
	index  fs.FileInfo // by which it is known that its index has not changed
	secret secret.Where
}

// New returns a keeper for the tree at root. What it notes goes to the session.
func New(root string, s *session.Session, opts *Options) *Keeper {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.MaxFiles = cmp.Or(o.MaxFiles, 50_000)
	o.MaxFileSize = cmp.Or(o.MaxFileSize, 16<<20)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.MaxTime = cmp.Or(o.MaxTime, 5*time.Second)
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without one, nothing is known about it
	}
	if o.Blobs == nil {
		o.Blobs = s.Blobs()
	}
	o.ignored = ignore.LoadGlobal(os.Getenv)
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if s.Dir() != "" {
		o.Exclude = append(slices.Clip(o.Exclude), filepath.Dir(filepath.Dir(s.Dir())))
	}
	k := &Keeper{root: root, session: s, opts: o, before: map[string]*tree{}, calls: map[string]string{}, wrote: map[string]map[string]File{}, will: map[string]map[string]File{}, told: map[string]bool{}}
	k.secret.Roots = []string{root}
	if o.Home != "" {
		home := o.Home
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		k.secret.Homes = []string{o.Home, home}
		if pathin.Contains(root, home) {
			k.off = &tree{Off: "this is your home folder"}
		}
	}
	return k
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
		writes := r.keeper.writes(rec.Call)
		if err := r.keeper.begin(ctx, rec.Call, writes); err != nil {
			return err
		}
		named := slices.Concat(rec.Paths.Writes, slices.DeleteFunc(writes, func(path string) bool { return !r.keeper.covers(path) }))
		if err := r.keeper.named(ctx, rec.Call, named); err != nil {
			return err
		}
	case rec.Step == sched.Finished:
		if err := r.keeper.end(ctx, rec.Outcome.Agent, rec.Outcome.CallID); err != nil {
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
	if k.isSecret(c.Path) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.note(ctx, c.Path+" is not covered: secrets are never copied")
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

func (k *Keeper) isSecret(path string) bool { return k.secret.Look(path).Level != secret.Open }

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

// begin looks at the tree before a call. A tree that cannot be looked at is no
// reason not to run: it is noted as not covered.
func (k *Keeper) begin(ctx context.Context, c *tool.Call, writes []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls[c.Agent] = c.ID
	if k.opts.Blobs == nil || slices.Contains(k.opts.FileTools, c.Tool) || k.opts.Noted != nil && k.opts.Noted(c.ID) {
		return nil
	}
	t, err := k.scan(ctx, writes)
	if err != nil {
		return k.note(ctx, fmt.Sprintf("changes by %s are not covered: %v", c.Tool, err))
	}
	k.before[c.ID] = t
	if err := k.open(c.ID, t); err != nil {
		return k.note(ctx, fmt.Sprintf("changes by %s are not covered if haft is killed: %v", c.Tool, err))
	}
	return k.note(ctx, k.uncovered(t))
}

// writes returns the files that a command is known to write.
func (k *Keeper) writes(c *tool.Call) []string {
	if k.opts.Writes == nil || slices.Contains(k.opts.FileTools, c.Tool) || k.opts.Noted != nil && k.opts.Noted(c.ID) {
		return nil
	}
	return k.opts.Writes(c)
}

// end notes what a call has changed.
func (k *Keeper) end(ctx context.Context, agent, call string) error {
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

// scan looks at the tree. What is to be written may be the repository itself: then
// git's objects are not relied on.
func (k *Keeper) scan(ctx context.Context, writes []string) (*tree, error) {
	if k.off != nil {
		return k.off, nil
	}
	if k.last == nil {
		k.last = cmp.Or(loadTree(k.projectTree()), &tree{})
	}
	k.refresh()
	s := scan{root: k.root, opts: &k.opts, exclude: k.opts.Exclude, last: k.last, repo: k.repo, secrets: k.secret,
		deadline: time.Now().Add(k.opts.MaxTime), put: func(count int) (func(string, []byte) error, func(bool) error, error) { return k.putter(ctx, count) }}
	if k.repo != nil && k.repo.holds(writes) {
		s.repo = nil
	}
	t, err := s.run(ctx)
	if err == nil {
		k.last = t
		if t.Off != "" {
			k.off = t
		}
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

// uncovered says what of a tree is not covered. Bounds that are reached are told.
func (k *Keeper) uncovered(t *tree) string {
	if t.Off != "" {
		text := t.Off + ", so only changes by file tools and to files that commands name can be rewound"
		k.tell(text)
		return text
	}
	var texts []string
	for why, m := range t.Missed {
		if m.Count == 0 {
			continue
		}
		text := ""
		switch reason(why) {
		case tooLarge:
			text = fmt.Sprintf("%s %s too large or cannot be read", m.text(), isAre(m.Count))
		case tooMuch:
			text = fmt.Sprintf("%s %s not covered: haft saves at most %d MB that is not in git", m.text(), isAre(m.Count), k.opts.MaxBytes>>20)
			k.tell(text)
		case tooLate:
			text = fmt.Sprintf("%s %s not covered: copying takes longer than %v", m.text(), isAre(m.Count), k.opts.MaxTime)
			k.tell(text)
		case isSecret:
			text = fmt.Sprintf("%s %s not covered: secrets are never copied", m.text(), isAre(m.Count))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// tell reports a bound that is reached to the user.
func (k *Keeper) tell(text string) {
	if k.opts.Tell != nil && !k.told[text] {
		k.told[text] = true
		k.opts.Tell(text)
	}
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
