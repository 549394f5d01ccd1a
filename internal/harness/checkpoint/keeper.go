package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/sys/regular"
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

// compare notes what a call has changed since a look.
func (k *Keeper) compare(ctx context.Context, before *tree, call string) error {
	now, err := k.scan(ctx, nil)
	if err != nil {
		return k.note(ctx, fmt.Sprintf("changes by call %s are not covered: %v", call, err))
	}
	entries, err := k.entries(ctx, before.diff(now), call)
	if err != nil {
		return k.note(ctx, fmt.Sprintf("changes by call %s are not covered: %v", call, err))
	}
	if err := k.session.Append(ctx, entries...); err != nil {
		return err
	}
	k.done(call)
	return nil
}

// entries returns changes as they are written to the journal. Contents that only git
// has are kept now: of the few files that changed, not of all that might have.
func (k *Keeper) entries(ctx context.Context, changes []change, call string) ([]session.Entry, error) {
	had, err := k.fromGit(ctx, changes)
	if err != nil {
		return nil, err
	}
	var entries []session.Entry
	var lost missed
	for _, c := range changes {
		full := filepath.Join(k.root, filepath.FromSlash(c.path))
		old, now := c.old.file(), c.now.file()
		if c.old != nil && c.old.Git != "" {
			old.Digest = had[c.old.Git]
		}
		if c.now != nil && c.now.Git != "" {
			found, _, err := lookAt(full)
			if err != nil {
				continue // it changes under us
			}
			now.Digest = found.Digest
		}
		if c.old != nil && c.old.Git != "" && old.Digest == "" {
			if lost.Count++; lost.Count == 1 {
				lost.First = c.path
			}
			continue
		}
		if old == now {
			continue
		}
		cp := checkpointOf(call, full, old, now)
		entries = append(entries, session.Entry{Checkpoint: &cp})
	}
	if lost.Count > 0 {
		return entries, k.note(ctx, fmt.Sprintf("%s changed and cannot be restored: its git objects are gone", lost.text()))
	}
	return entries, nil
}

// fromGit keeps the contents of changed files that git has, and returns their digests
// by object.
func (k *Keeper) fromGit(ctx context.Context, changes []change) (map[string]string, error) {
	had := map[string]string{}
	var names []string
	for _, c := range changes {
		if c.old == nil || c.old.Git == "" {
			continue
		}
		if _, ok := had[c.old.Git]; !ok {
			had[c.old.Git] = ""
			names = append(names, c.old.Git)
		}
	}
	if k.repo == nil || len(names) == 0 {
		return had, nil
	}
	keep, done, err := k.putter(ctx, len(names))
	if err != nil {
		return nil, err
	}
	err = k.repo.objects(ctx, names, k.opts.MaxFileSize, func(name string, content []byte) error {
		digest := blob.Digest(content)
		if err := keep(digest, content); err != nil {
			return err
		}
		had[name] = digest
		return nil
	})
	if failed := done(err == nil); failed != nil {
		return nil, failed
	}
	if err != nil { // git is not there, or its folder is gone
		clear(had)
	}
	return had, nil
}

// putter returns how to keep many contents, and what to call at the end.
func (k *Keeper) putter(ctx context.Context, count int) (put func(digest string, b []byte) error, done func(ok bool) error, err error) {
	store, ok := k.opts.Blobs.(interface{ NewPack() (*blob.Pack, error) })
	single := func(digest string, b []byte) error { return k.opts.Blobs.Put(ctx, digest, b) }
	if !ok || count < packFrom {
		return single, func(bool) error { return nil }, nil
	}
	pack, err := store.NewPack()
	if err != nil {
		return nil, nil, err
	}
	put = func(digest string, b []byte) error {
		if len(b) > blob.Small {
			return single(digest, b)
		}
		return pack.Add(digest, b)
	}
	return put, func(ok bool) error {
		if !ok {
			pack.Discard()
			return nil
		}
		return pack.Close()
	}, nil
}

// open makes what a call changes known even if this process dies meanwhile.
func (k *Keeper) open(call string, t *tree) error {
	dir := k.session.Dir()
	if dir == "" {
		return nil
	}
	if k.saved == nil || !k.saved.equal(t) {
		if err := t.save(filepath.Join(dir, treeFile)); err != nil {
			return err
		}
		k.saved = t
		k.share(filepath.Join(dir, treeFile))
	}
	if err := os.MkdirAll(filepath.Join(dir, openFolder), 0o700); err != nil {
		return err
	}
	return os.WriteFile(k.openFile(call), []byte(call), 0o600)
}

func (k *Keeper) openFile(call string) string {
	return filepath.Join(k.session.Dir(), openFolder, blob.Digest([]byte(call))[:16])
}

// done forgets a call whose changes are noted.
func (k *Keeper) done(call string) {
	if k.session.Dir() != "" {
		os.Remove(k.openFile(call)) // one that stays is compared once more, which notes the same
	}
}

// share makes the tree known to the project's next sessions, which then need not
// read every file.
func (k *Keeper) share(path string) {
	temp := k.projectTree() + "-" + k.session.ID()
	os.Remove(temp)
	if os.Link(path, temp) != nil || os.Rename(temp, k.projectTree()) != nil {
		os.Remove(temp) // the next session reads every file
	}
}

func (k *Keeper) projectTree() string {
	return filepath.Join(filepath.Dir(k.session.Dir()), "haft-tree")
}

// Recover notes what calls changed that an earlier process did not see the end
// of, and finishes a rewind that was begun. Call it when a session is resumed,
// before anything runs.
func (k *Keeper) Recover(ctx context.Context) (*Recovered, error) {
	r := new(Recovered)
	dir := k.session.Dir()
	if dir == "" {
		return r, nil
	}
	if err := k.finishRewind(ctx, r); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	open, err := os.ReadDir(filepath.Join(dir, openFolder))
	if errors.Is(err, fs.ErrNotExist) || len(open) == 0 {
		return r, nil
	}
	before := loadTree(filepath.Join(dir, treeFile))
	for _, e := range open {
		call, err := regular.Read(filepath.Join(dir, openFolder, e.Name()), maxCallName)
		if err != nil {
			continue
		}
		r.Calls = append(r.Calls, string(call))
	}
	if before == nil || len(r.Calls) == 0 {
		return r, nil
	}
	k.last = before
	if err := k.compare(ctx, before, r.Calls[0]); err != nil {
		return r, err
	}
	for _, call := range r.Calls {
		k.done(call)
	}
	return r, nil
}

// refresh reads git's index again if it has changed.
func (k *Keeper) refresh() {
	_, dir := findRepository(k.root)
	info, err := os.Lstat(filepath.Join(dir, "index"))
	if dir == "" || err != nil {
		k.repo, k.index = nil, nil
		return
	}
	if k.index != nil && k.repo != nil && k.repo.dir == dir && os.SameFile(k.index, info) && k.index.ModTime().Equal(info.ModTime()) && k.index.Size() == info.Size() {
		return
	}
	k.repo, k.index = openRepository(k.root), info
}

// named keeps the files that a call says it will write, as far as the look at the tree
// does not cover them: what an ignored folder holds, or everything in a tree that is
// too large. Tools that tell of each change themselves need none of it.
func (k *Keeper) named(ctx context.Context, c *tool.Call, paths []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opts.Blobs == nil || slices.Contains(k.opts.FileTools, c.Tool) {
		return nil
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(k.root, path)
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
		if looked := k.before[c.ID]; looked != nil && looked.covers(k.root, path) {
			continue
		}
		if k.isSecret(path) {
			if err := k.note(ctx, path+" is not covered: secrets are never copied"); err != nil {
				return err
			}
			continue
		}
		if info, err := os.Lstat(path); err == nil && (info.IsDir() || info.Size() > k.opts.MaxFileSize) {
			if err := k.note(ctx, fmt.Sprintf("what %s changes in %s is not covered: it is a folder or too large", c.Tool, path)); err != nil {
				return err
			}
			continue
		}
		was, content, err := lookAt(path)
		if err == nil && was.Digest != "" {
			err = k.opts.Blobs.Put(ctx, was.Digest, content)
		}
		if err != nil {
			if err := k.note(ctx, fmt.Sprintf("what %s changes in %s is not covered: %v", c.Tool, path, err)); err != nil {
				return err
			}
			continue
		}
		if k.will[c.ID] == nil {
			k.will[c.ID] = map[string]File{}
		}
		k.will[c.ID][path] = was
	}
	return nil
}

// namedNow notes what became of the files that a call named.
func (k *Keeper) namedNow(ctx context.Context, call string) error {
	var entries []session.Entry
	for path, was := range k.will[call] {
		now, _, err := lookAt(path)
		if err != nil || now.sameContent(was) {
			continue
		}
		cp := checkpointOf(call, path, was, now)
		entries = append(entries, session.Entry{Checkpoint: &cp})
	}
	delete(k.will, call)
	return k.session.Append(ctx, entries...)
}

// Restores reports whether a rewind restores what is at these paths now, with all that is
// in the folders among them, if the next call changes or deletes it.
func (k *Keeper) Restores(ctx context.Context, paths []string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opts.Blobs == nil {
		return false
	}
	t, err := k.scan(ctx, paths)
	if err != nil || t.Off != "" {
		return false
	}
	return !slices.ContainsFunc(paths, func(path string) bool { return !t.restores(k.root, path) })
}

// finishRewind does the rest of a rewind that a process died in. A file that is
// neither as it was nor as it should be was changed by someone since, and stays.
// The plan is a file that anybody may have put there, so it is only followed
// inside of the project.
func (k *Keeper) finishRewind(ctx context.Context, r *Recovered) error {
	path := filepath.Join(k.session.Dir(), rewindFile)
	raw, err := regular.Read(path, maxPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finish rewind: %w", err)
	}
	var p Plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("finish rewind: %s: %w", path, err)
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; len(s.Raw) == 3 {
			s.Path, s.Want.Link, s.Had.Link = string(s.Raw[0]), string(s.Raw[1]), string(s.Raw[2])
		}
	}
	w := writer{blobs: k.opts.Blobs}
	steps := p.ordered()
	var done []Step
	for i := range steps {
		s := &steps[i]
		now, content, err := lookAt(s.Path)
		changed := err == nil && !now.sameContent(s.Had) && !now.sameContent(s.Want) && !w.torn(ctx, s, content) && !s.between(now)
		if !k.covers(s.Path) || changed && (s.Want.Exists() || !behindLink(s.Path)) || w.put(ctx, s) != nil {
			r.Left = append(r.Left, s.Path)
		} else {
			done = append(done, *s)
			r.Restored = append(r.Restored, s.Path)
		}
	}
	return errors.Join(w.modes(done), os.Remove(path))
}

// covers reports whether a path lies in the tree.
func (k *Keeper) covers(path string) bool {
	return filepath.IsAbs(path) && pathin.Contains(k.root, path)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
