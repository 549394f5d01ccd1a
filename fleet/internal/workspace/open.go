package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// Options say which workspace to open.
type Options struct {
	// Dir has the workspaces of this machine.
	Dir string
	// Run is whose files they are.
	Run string
	// Spec is what the run began with.
	Spec Spec
	// Last is the last point in the journal; nil means that there is none, or only what Base says.
	Last *Point
	// Base is the commit that the run began with, Branch the branch that it was; "" asks the
	// repository.
	Base, Branch string
	// Blobs keeps what the repository does not have.
	Blobs blob.Store
	// Home is the home directory of the user, which tells what is secret; "" means none.
	Home string
	// maxFile is how large a file may be that is stored; 0 means 64 MB, which tests need not write.
	maxFile int64
	// Aside is called with each folder that was moved aside, because it has changes that are not
	// stored; nil means not to.
	Aside func(*Aside)
}

// A Workspace is the folder of a run on this machine, which no other process uses.
type Workspace struct {
	Options
	root    string // what belongs to the run here
	work    string // its files
	homes   []string
	objects git
	lock    *flock.Flock

	mu    sync.Mutex
	point *Point
	tree  map[string]entry
	seen  map[string]seen
	refs  string // the mark of those that are stored; "" if they could not be
	// branches are those that were read last, left the files that were not stored.
	branches branches
	left     map[string]bool
}

// Folder is where the files are.
func (w *Workspace) Folder() string { return w.work }

// Point is what is stored.
func (w *Workspace) Point() *Point {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.point
}

// Open makes the folder of a run, or finds the one that this machine has, with the files as they
// were at the last point.
func Open(ctx context.Context, o *Options) (*Workspace, error) {
	if err := o.Spec.Check(); err != nil {
		return nil, err
	}
	w := &Workspace{Options: *o}
	if w.Last != nil {
		w.Base, w.Branch = w.Last.Base, w.Last.Branch
	}
	if w.Home != "" {
		w.homes = []string{w.Home}
	}
	if err := w.acquire(); err != nil {
		return nil, err
	}
	if err := w.fill(ctx); err != nil {
		w.Close()
		return nil, explain(err, w.Dir)
	}
	return w, nil
}

// lockPause is how long to wait before a lock is tried again.
const lockPause = 100 * time.Millisecond

// maxFolders is how many folders of one run a machine may have in use: those of workers that were
// taken for dead and still run.
const maxFolders = 8

// acquire locks a folder for the run. The path is the same wherever it can be, because the
// conversation names it.
func (w *Workspace) acquire() error {
	for n := range maxFolders {
		root := filepath.Join(w.Dir, "runs", w.Run)
		if n > 0 {
			root += fmt.Sprintf("-%d", n+1)
		}
		lock, err := lockFolder(root)
		if err != nil {
			return explain(err, w.Dir)
		}
		if lock != nil {
			w.lock = lock
			w.at(root)
			return nil
		}
	}
	return fmt.Errorf("%d workers on this machine use folders of run %s. Stop those that hang", maxFolders, w.Run)
}

// at sets where everything is.
func (w *Workspace) at(root string) {
	w.root, w.work = root, filepath.Join(root, w.Spec.folderName())
	w.objects = git{dir: filepath.Join(root, objectsName)}
}

// lockFolder locks the folder of a run; nil if another process has it.
func lockFolder(root string) (*flock.Flock, error) {
	locks := filepath.Join(filepath.Dir(filepath.Dir(root)), "locks")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, fmt.Errorf("lock the folder of a run: %w", err)
	}
	path := filepath.Join(locks, filepath.Base(root))
	for {
		lock := flock.New(path)
		ok, err := lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock the folder of a run: %w", err)
		}
		if !ok {
			return nil, nil
		}
		held, err := lock.Stat()
		named, lookErr := os.Stat(path)
		if err == nil && lookErr == nil && os.SameFile(held, named) {
			return lock, nil
		}
		lock.Close() // it was removed meanwhile
	}
}

// Close gives the folder back. The files stay for the next turn on this machine.
func (w *Workspace) Close() error {
	if _, err := os.Lstat(w.root); errors.Is(err, os.ErrNotExist) {
		os.Remove(w.lock.Path()) // while it is locked
	}
	return w.lock.Close()
}

// fill makes the folder what it was at the last point.
func (w *Workspace) fill(ctx context.Context) error {
	known, err := readNoted(w.root)
	if err != nil {
		if err := w.aside(); err != nil {
			return err
		}
	}
	if known != nil {
		unchanged, left, err := w.compare(ctx, known)
		if err != nil {
			return err
		}
		if unchanged && w.wanted(known) && (!loses(left) || slices.Equal(firstFew(left), known.Point.Left)) {
			w.point.Path = w.work
			return nil // it is that already
		}
		if !unchanged || loses(left) || !w.includes(ctx, known.Point) {
			if err := w.aside(); err != nil {
				return err
			}
		}
	}
	if err := os.RemoveAll(w.root); err != nil {
		return fmt.Errorf("remove an old copy of the files: %w", err)
	}
	return w.create(ctx)
}

// wanted reports whether a folder is known to be what the journal says.
func (w *Workspace) wanted(known *noted) bool {
	if w.Last != nil {
		return known.Point.same(w.Last)
	}
	return w.Base != "" && known.Point.Base == w.Base && known.Point.Call == ""
}

// includes reports whether what the journal has was made from a point, or is that: a worker that
// ended right after it had stored something leaves a point that nobody else knows.
func (w *Workspace) includes(ctx context.Context, p *Point) bool {
	switch {
	case p.Commit == p.Base:
		return true // nothing was changed
	case w.Last == nil:
		return p.Base == w.Base && p.Call == ""
	case p.same(w.Last):
		return true
	case p.Base != w.Last.Base:
		return false
	case len(p.Packs) <= len(w.Last.Packs) && slices.Equal(p.Packs, w.Last.Packs[:len(p.Packs)]):
		return true
	}
	if _, err := w.fetchPoint(ctx, w.Last); err != nil { // its packs may have been made into one
		return false
	}
	_, err := w.objects.run(ctx, nil, "merge-base", "--is-ancestor", p.Commit, w.Last.Commit)
	return err == nil
}

// compare loads what is known of the folder, and reports whether it still is what was stored, and
// what was never stored.
func (w *Workspace) compare(ctx context.Context, known *noted) (unchanged bool, left []leftOut, err error) {
	w.point, w.refs, w.seen = known.Point, known.Refs, map[string]seen{}
	if w.tree, err = w.readTree(ctx, known.Point.Commit); err != nil {
		return false, nil, nil // a crash has left it so; it is put aside
	}
	refs, err := w.folderRefs()
	if err != nil || refs.mark != w.refs {
		return false, nil, nil
	}
	if err := w.readBranches(ctx, refs, refs.mark); err != nil {
		return false, nil, nil
	}
	left, err = w.scan(ctx, func(*change) error { return errChanged })
	if errors.Is(err, errChanged) {
		return false, nil, nil
	}
	return err == nil, append(left, w.branches.left...), err
}

// loses reports whether something would be lost with the folder.
func loses(left []leftOut) bool {
	return slices.ContainsFunc(left, func(l leftOut) bool { return l.lost })
}

var errChanged = errors.New("it has changed")

// create makes the folder.
func (w *Workspace) create(ctx context.Context) error {
	if err := w.clone(ctx); err != nil {
		return err
	}
	if w.Last == nil {
		return w.checkOut(ctx)
	}
	return w.restore(ctx)
}

// clone fetches what the run began with and makes its repositories.
func (w *Workspace) clone(ctx context.Context) error {
	m, unlock, err := openMirror(ctx, w.Dir, &w.Spec)
	if err != nil {
		return err
	}
	defer unlock()
	if w.Base == "" {
		w.Base, w.Branch, err = m.resolve(ctx)
	} else {
		err = m.fetch(ctx, w.Base)
	}
	if err != nil {
		return err
	}
	if err := w.initRepositories(ctx, m); err != nil {
		return fmt.Errorf("make the folder of the run: %w", err)
	}
	return nil
}

// initRepositories makes the folder's repository and the one beside it. Both read the objects of
// the mirror.
func (w *Workspace) initRepositories(ctx context.Context, m *mirror) error {
	folder := git{dir: filepath.Join(w.work, ".git")}
	for _, dir := range []string{w.work, w.objects.dir, folder.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	format := "--object-format=sha1"
	if len(w.Base) == 64 {
		format = "--object-format=sha256"
	}
	if _, err := w.objects.run(ctx, nil, "init", "-q", "--bare", format, w.objects.dir); err != nil {
		return err
	}
	if _, err := folder.on(w.work).run(ctx, nil, "init", "-q", format); err != nil {
		return err
	}
	for _, dir := range []string{w.objects.dir, folder.dir} {
		if err := writeFile(filepath.Join(dir, "objects", "info", "alternates"), []byte(filepath.Join(m.dir, "objects")+"\n")); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"remote", "add", "origin", w.Spec.Repository},
		{"fetch", "-q", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance", "--force", "--", m.dir, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"},
	} {
		if _, err := folder.run(ctx, nil, args...); err != nil {
			return err
		}
	}
	return nil
}

// checkOut makes the files of the commit that the run begins with.
func (w *Workspace) checkOut(ctx context.Context) error {
	folder := git{dir: filepath.Join(w.work, ".git"), work: w.work}
	tree, err := w.objects.text(ctx, "rev-parse", "--verify", "-q", w.Base+"^{tree}")
	if err != nil {
		return err
	}
	head := w.Base
	heads := map[string]string{}
	if w.Branch != "" {
		head, heads[w.Branch] = "ref: refs/heads/"+w.Branch, w.Base
	}
	if err := w.setHeads(ctx, &state{Head: head, Heads: heads}); err != nil {
		return err
	}
	if _, err := folder.run(ctx, nil, "read-tree", "-u", "--reset", w.Base); err != nil {
		return fmt.Errorf("check out %s: %w", w.Base, err)
	}
	w.point = &Point{Base: w.Base, Branch: w.Branch, Commit: w.Base, Tree: tree}
	return w.begin(ctx)
}

// begin notes that the folder is complete. Where git writes files in another way than it has
// them, with other line ends, that is stored first.
func (w *Workspace) begin(ctx context.Context) (err error) {
	w.seen, w.branches = map[string]seen{}, branches{}
	if w.tree, err = w.readTree(ctx, w.point.Commit); err != nil {
		return err
	}
	refs, err := w.folderRefs()
	if err != nil {
		return err
	}
	w.refs = refs.mark
	if why := w.takeRefs(ctx, refs); why != "" {
		return errors.New(why)
	}
	_, err = w.store(ctx, w.point.Call)
	return err
}

// setHeads sets the branches of the folder's repository and which is checked out.
func (w *Workspace) setHeads(ctx context.Context, s *state) error {
	folder := git{dir: filepath.Join(w.work, ".git")}
	var in strings.Builder
	for name, hash := range s.Heads {
		if !validRef(name) || !isHash(hash) {
			return &DamagedError{fmt.Sprintf("the stored branch name %q is invalid", name)}
		}
		fmt.Fprintf(&in, "update refs/heads/%s %s\n", name, hash)
	}
	if _, err := folder.run(ctx, strings.NewReader(in.String()), "update-ref", "--stdin"); err != nil {
		return fmt.Errorf("set the branches: %w", err)
	}
	branch, onBranch := strings.CutPrefix(s.Head, "ref: refs/heads/")
	switch {
	case onBranch && validRef(branch):
	case isHash(s.Head):
	default:
		return nil // there is no commit yet
	}
	return writeFile(filepath.Join(folder.dir, "HEAD"), []byte(s.Head+"\n"))
}
