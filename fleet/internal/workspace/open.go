package workspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/haftdev/haft/internal/text/secret"
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

// includes reports whether the journal's latest checkpoint descends from p or equals it. A worker
// that ended right after it had stored something leaves a point that nobody else knows.
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

// aside moves the folder where nobody works in it.
func (w *Workspace) aside() error {
	now := time.Now().UTC()
	to := filepath.Join(w.Dir, "aside", fmt.Sprintf("%s-%s", filepath.Base(w.root), now.Format("20060102-150405.000000")))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("keep a changed folder: %w", err)
	}
	if err := os.Rename(w.root, to); err != nil {
		return fmt.Errorf("keep a changed folder: %w", err)
	}
	if w.Aside != nil {
		a := &Aside{Run: w.Run, Path: filepath.Join(to, filepath.Base(w.work)), Time: now}
		if w.point != nil {
			a.Call = w.point.Call
		}
		w.Aside(a)
	}
	return nil
}

// keep stores the objects of a new commit.
func (w *Workspace) keep(ctx context.Context, p *Point, last *Point) error {
	have := []string{p.Base}
	p.Packs = nil
	if last != nil && len(last.Packs) < maxPacks {
		have, p.Packs = append(have, last.Commit), append(p.Packs, last.Packs...)
	}
	in := p.Commit + "\n^" + strings.Join(have, "\n^") + "\n"
	pack, err := w.objects.run(ctx, strings.NewReader(in), "pack-objects", "-q", "--revs", "--thin", "--delta-base-offset", "--stdout")
	if err != nil {
		return err
	}
	digest := blob.Digest(pack)
	if err := w.Blobs.Put(ctx, digest, pack); err != nil {
		return err
	}
	p.Packs = append(p.Packs, digest)
	return nil
}

// fetchPoint brings the objects of a point here and returns what its commit says.
func (w *Workspace) fetchPoint(ctx context.Context, p *Point) (*state, error) {
	for _, digest := range p.Packs {
		pack, err := w.Blobs.Get(ctx, digest)
		if err != nil {
			return nil, notThere(err, p)
		}
		// Its digest was compared. What git now finds wrong with an object was in the repository.
		if _, err := w.objects.run(ctx, strings.NewReader(string(pack)), "index-pack", "--stdin", "--fix-thin"); err != nil {
			return nil, diskOr(err, &DamagedError{fmt.Sprintf("the stored files of the run are damaged: %v", err)})
		}
	}
	tree, err := w.objects.text(ctx, "rev-parse", "--verify", "-q", p.Commit+"^{tree}")
	if err != nil || tree != p.Tree {
		return nil, &DamagedError{fmt.Sprintf("the stored files of the run are damaged: the commit %s has the tree %q, not %q", p.Commit, tree, p.Tree)}
	}
	s := &state{}
	if p.Commit == p.Base {
		return s, nil
	}
	text, err := w.objects.run(ctx, nil, "cat-file", "commit", p.Commit)
	_, message, _ := strings.Cut(string(text), "\n\n")
	if err == nil {
		err = json.Unmarshal([]byte(message), s)
	}
	if err != nil {
		return nil, &DamagedError{fmt.Sprintf("the stored files of the run are damaged: the message of the commit %s cannot be read: %v", p.Commit, err)}
	}
	return s, nil
}

// Result makes a commit of what is stored: what is checked out, and a commit with what was not
// committed. It is the same each time for the same point.
func (w *Workspace) Result(ctx context.Context) (commit string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if commit, err = w.result(ctx); err != nil {
		return "", fmt.Errorf("could not commit the files: %w", explain(err, w.Dir))
	}
	return commit, nil
}

// Push pushes a result to a branch of the repository. Expected are the commits that may be there, of
// which "" means that there is no such branch.
func (w *Workspace) Push(ctx context.Context, branch, commit string, expected []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := CheckBranch(branch); err != nil {
		return err
	}
	g, ref := w.objects, "refs/heads/"+branch
	g.user = true
	now, err := g.text(ctx, "ls-remote", "--", w.Spec.Repository, ref)
	if err != nil {
		return fmt.Errorf("could not push the branch %s: %w", branch, err)
	}
	is, _, _ := strings.Cut(now, "\t")
	if is == commit {
		return nil
	}
	if !slices.Contains(expected, is) && is == "" {
		return refuse("could not push the branch %s: it was deleted from %s after the run had pushed it. Submit the prompt as a new run with another --push branch", branch, w.Spec.Repository)
	}
	if !slices.Contains(expected, is) {
		return refuse("could not push the branch %s: in %s it is at %s, a commit that the run did not push. Submit the prompt as a new run with another --push branch", branch, w.Spec.Repository, is)
	}
	_, err = g.run(ctx, nil, "push", "-q", "--no-verify", "--no-recurse-submodules", "--force-with-lease="+ref+":"+is, "--", w.Spec.Repository, commit+":"+ref)
	if err != nil {
		return fmt.Errorf("could not push the branch %s: %w", branch, err)
	}
	return nil
}

func (w *Workspace) result(ctx context.Context) (string, error) {
	if w.branches.state == nil {
		return "", errors.New("nothing was stored")
	}
	parent := w.checkedOut(w.branches.state)
	index := filepath.Join(w.root, "result-index")
	defer os.Remove(index)
	g := w.objects.on(w.work, "GIT_INDEX_FILE="+index, "GIT_LITERAL_PATHSPECS=1")
	if _, err := g.run(ctx, nil, "read-tree", parent); err != nil {
		return "", err
	}
	// What is gone comes first: a link may be where a folder was.
	for _, step := range []struct {
		only string
		do   []string
	}{
		{"--diff-filter=D", []string{"update-index", "--force-remove", "-z", "--stdin"}},
		{"--diff-filter=d", []string{"add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"}},
	} {
		paths, err := g.run(ctx, nil, "diff-tree", "-r", "-z", "--name-only", "--no-renames", step.only, parent, w.point.Tree)
		if err != nil {
			return "", err
		}
		// Of a file that is not stored, the commit that is checked out has what the run wants.
		paths = slices.Concat(slices.DeleteFunc(slices.Collect(bytes.SplitAfterSeq(paths, []byte{0})), func(path []byte) bool {
			return w.left[string(bytes.TrimSuffix(path, []byte{0}))]
		})...)
		if len(paths) == 0 {
			continue
		}
		if _, err := g.run(ctx, bytes.NewReader(paths), step.do...); err != nil {
			return "", err
		}
	}
	tree, err := g.text(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	had, err := g.text(ctx, "rev-parse", parent+"^{tree}")
	if err != nil || had == tree {
		return parent, err
	}
	date, err := g.text(ctx, "log", "-1", "--format=%ct +0000", w.point.Commit)
	if err != nil {
		return "", err
	}
	g = g.on(w.work, "GIT_AUTHOR_NAME=haft", "GIT_AUTHOR_EMAIL=haft@localhost", "GIT_COMMITTER_NAME=haft", "GIT_COMMITTER_EMAIL=haft@localhost", "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	return g.text(ctx, "commit-tree", "-p", parent, "-m", "Uncommitted changes of run "+w.Run, tree)
}

// Export makes a folder of its own of the workspace, a clone that needs nothing else. The
// workspace is gone then.
func (w *Workspace) Export(ctx context.Context, to string) error {
	folder := git{dir: filepath.Join(w.work, ".git")}
	if _, err := folder.run(ctx, nil, "repack", "-a", "-d", "-q"); err != nil {
		return fmt.Errorf("copy the commits: %w", err)
	}
	if err := os.Remove(filepath.Join(folder.dir, "objects", "info", "alternates")); err != nil {
		return fmt.Errorf("copy the commits: %w", err)
	}
	if err := os.Rename(w.work, to); err != nil {
		return fmt.Errorf("create the folder %s: %w", to, err)
	}
	return os.RemoveAll(w.root)
}

// folderRefs reads the refs of the folder's repository, without git.
func (w *Workspace) folderRefs() (*refs, error) {
	root, err := os.OpenRoot(w.work)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the run: %w", err)
	}
	defer root.Close()
	sum, left := sha256.New(), int64(maxRefs)
	read := func(name string) string {
		file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return ""
		}
		defer file.Close()
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			return ""
		}
		raw, _ := io.ReadAll(io.LimitReader(file, left)) // one that cannot be read says nothing
		left -= int64(len(raw))
		fmt.Fprintf(sum, "%q %d\n", name, len(raw))
		sum.Write(raw)
		return string(raw)
	}
	r := &refs{head: strings.TrimSpace(read(".git/HEAD"))}
	read(".git/packed-refs")
	_ = fs.WalkDir(root.FS(), ".git/refs/heads", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			read(path.Clean(name))
		}
		return nil // what is not there is no branch
	})
	r.mark = hex.EncodeToString(sum.Sum(nil))
	return r, nil
}

// takeRefs fetches the branches of the folder's repository. A repository that a command has broken
// keeps the files of the run from nobody: it returns why there are no branches.
func (w *Workspace) takeRefs(ctx context.Context, r *refs) (why string) {
	if err := w.checkRepository(); err != nil {
		return "commits cannot be stored: " + err.Error()
	}
	from := []string{"+refs/heads/*:" + headsRef + "*"}
	if isHash(r.head) {
		from = append(from, "+HEAD:"+detachedRef)
	}
	args := append([]string{"fetch", "-q", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance", "--no-recurse-submodules", "--prune", "--force", "--", w.work + "/.git"}, from...)
	if _, err := w.objects.run(ctx, nil, args...); err != nil {
		return "commits cannot be stored: " + err.Error()
	}
	return ""
}

// checkRepository refuses a repository that git would leave for another one, or that would keep git
// waiting: the links, the alternates and the pipes that a command may have made.
func (w *Workspace) checkRepository() error {
	root, err := os.OpenRoot(w.work)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Lstat(".git"); err != nil || !info.IsDir() {
		return errors.New(".git is not the run's repository")
	}
	for _, name := range []string{"commondir", "gitdir", "reftable", "objects/info/http-alternates"} {
		if _, err := root.Lstat(".git/" + name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf(".git/%s points to another repository", name)
		}
	}
	for _, name := range []string{"HEAD", "packed-refs", "config", "config.worktree", "shallow", "objects/info/alternates"} {
		if info, err := root.Lstat(".git/" + name); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf(".git/%s is not a file", name)
		}
	}
	for _, name := range []string{"refs", "objects"} {
		if info, err := root.Lstat(".git/" + name); err == nil && !info.IsDir() {
			return fmt.Errorf(".git/%s is not a folder", name)
		}
		err := fs.WalkDir(root.FS(), ".git/"+name, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !e.Type().IsRegular() {
				return fmt.Errorf("%s is neither a file nor a folder", path)
			}
			return nil // what cannot be read, git cannot read
		})
		if err != nil {
			return err
		}
	}
	alternates, err := root.ReadFile(".git/objects/info/alternates")
	if own := filepath.Join(mirrorPath(w.Dir, &w.Spec), "objects"); err == nil && strings.TrimSpace(string(alternates)) != own {
		return errors.New(".git/objects/info/alternates points to another repository")
	}
	return nil
}

// readBranches reads what was fetched, unless it is what was read last.
func (w *Workspace) readBranches(ctx context.Context, r *refs, mark string) error {
	if w.branches.state != nil && mark != "" && w.branches.mark == mark {
		return nil
	}
	b := branches{mark: mark, state: &state{Head: r.head, Heads: map[string]string{}}}
	out, err := w.objects.text(ctx, "for-each-ref", "--format=%(objecttype) %(objectname) %(refname)", headsRef, detachedRef)
	if err != nil {
		return fmt.Errorf("read the branches: %w", err)
	}
	detached := false
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) != 3 {
			return fmt.Errorf("read the branches: unexpected output of git: %q", line)
		}
		branch, ok := strings.CutPrefix(f[2], headsRef)
		switch {
		case !ok:
			detached = detached || f[0] == "commit" && f[1] == b.Head
		case !validRef(branch):
			b.left = append(b.left, leftOut{".git", fmt.Sprintf("the branch %q has a name that cannot be stored", branch), true})
		case f[0] != "commit":
			b.left = append(b.left, leftOut{".git", fmt.Sprintf("the branch %q does not point to a commit", branch), true})
		default:
			b.Heads[branch] = f[1]
		}
	}
	if branch, ok := strings.CutPrefix(b.Head, "ref: refs/heads/"); ok && !validRef(branch) || !ok && !detached {
		b.Head = ""
	}
	if b.Head == "" && isHash(r.head) && mark != "" {
		b.left = append(b.left, leftOut{".git", "HEAD does not point to a commit", true})
	}
	commit := w.checkedOut(b.state)
	if b.files, err = w.readTree(ctx, commit); err != nil {
		return err
	}
	w.branches = b
	return nil
}

// checkedOut is the commit that the folder has checked out; the first one where it has none.
func (w *Workspace) checkedOut(s *state) string {
	if branch, ok := strings.CutPrefix(s.Head, "ref: refs/heads/"); ok && s.Heads[branch] != "" {
		return s.Heads[branch]
	}
	if isHash(s.Head) {
		return s.Head
	}
	return w.point.Base
}

// restore makes the folder what it was at the last point.
func (w *Workspace) restore(ctx context.Context) error {
	last := *w.Last
	s, err := w.fetchPoint(ctx, &last)
	if err != nil {
		return err
	}
	folder := git{dir: filepath.Join(w.work, ".git"), work: w.work}
	if last.Commit == last.Base {
		return w.checkOut(ctx)
	}
	// The folder's repository gets the commits of the branches.
	if _, err := w.objects.run(ctx, nil, "update-ref", pointRef, last.Commit); err != nil {
		return err
	}
	if _, err := folder.run(ctx, nil, "fetch", "-q", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance", "--", w.objects.dir, pointRef); err != nil {
		return fmt.Errorf("restore the commits of the run: %w", err)
	}
	if err := w.setHeads(ctx, s); err != nil {
		return err
	}
	if w.tree, err = w.readTree(ctx, last.Commit); err != nil {
		return err
	}
	if err := w.writeFiles(ctx); err != nil {
		return fmt.Errorf("restore the files of the run: %w", err)
	}
	if head, err := folder.text(ctx, "rev-parse", "--verify", "-q", "HEAD^{commit}"); err == nil {
		if _, err := folder.run(ctx, nil, "read-tree", head); err != nil {
			return fmt.Errorf("restore the index of the run: %w", err)
		}
		_, _ = folder.run(ctx, nil, "update-index", "-q", "--refresh") // it only saves time later
	}
	w.point = &last
	if err := w.begin(ctx); err != nil {
		return err
	}
	if w.point.Tree != last.Tree {
		return &DamagedError{fmt.Sprintf("the files of the run could not be restored as they were: the tree is %s, not %s", w.point.Tree, last.Tree)}
	}
	return nil
}

// writeFiles writes the files of the tree, as they are in it. Links come last: nothing is written
// through them.
func (w *Workspace) writeFiles(ctx context.Context) error {
	root, err := os.OpenRoot(w.work)
	if err != nil {
		return err
	}
	defer root.Close()
	var names []string
	for name, e := range w.tree {
		if !safeName(name) {
			return &DamagedError{fmt.Sprintf("the stored file name %q is invalid", name)}
		}
		if e.mode != gitMode {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if la, lb := w.tree[a].mode == linkMode, w.tree[b].mode == linkMode; la != lb {
			if la {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	cmd := w.objects.command(ctx, "cat-file", "--batch", "--buffer")
	var in strings.Builder
	for _, name := range names {
		in.WriteString(w.tree[name].object + "\n")
	}
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	from := bufio.NewReaderSize(out, 1<<16)
	for _, name := range names {
		if err = writeOne(root, name, w.tree[name], from); err != nil {
			_ = cmd.Process.Kill()
			break
		}
	}
	if waited := cmd.Wait(); err == nil {
		err = waited
	}
	return err
}

// largest is how large a file may be that is stored.
func (w *Workspace) largest() int64 {
	if w.maxFile > 0 {
		return w.maxFile
	}
	return 64 << 20
}

// scan calls each with the files that differ from the tree, and returns those that are not stored
// although git does not ignore them.
func (w *Workspace) scan(ctx context.Context, each func(*change) error) (left []leftOut, err error) {
	names, left, err := w.names(ctx)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(w.work)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the run: %w", err)
	}
	defer root.Close()
	l := &looker{Workspace: w, root: root, secrets: secret.Where{Homes: w.homes, Roots: []string{w.work}}, folders: map[string]bool{".": true}}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, why, err := l.look(name)
		if err != nil {
			return nil, err
		}
		if why != "" {
			left = append(left, leftOut{name, why, why != noSubmodules})
		}
		if c == nil {
			continue
		}
		if err := each(c); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// names returns the files that are or were there, in order, without ignored ones. A file that is
// in the tree stays in sight even if it becomes ignored.
func (w *Workspace) names(ctx context.Context) (names []string, left []leftOut, err error) {
	g := w.objects.on(w.work, "GIT_INDEX_FILE="+filepath.Join(w.work, ".git", "index"))
	args := []string{"ls-files", "-z", "--cached", "--others", "--exclude-standard"}
	out, err := g.run(ctx, nil, args...)
	if err != nil { // what a command made of the index cannot be read: then nothing is staged
		g = w.objects.on(w.work, "GIT_INDEX_FILE="+filepath.Join(w.root, "no-index"))
		if out, err = g.run(ctx, nil, args...); err != nil {
			return nil, nil, fmt.Errorf("list the files: %w", err)
		}
	}
	for name := range bytes.SplitSeq(out, []byte{0}) {
		switch n := string(name); {
		case n == "":
		case strings.HasSuffix(n, "/"):
			left = append(left, leftOut{n, "it is a git repository itself", true})
		default:
			names = append(names, n)
		}
	}
	for name := range w.tree {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), left, nil
}

func (w *Workspace) tooLarge() string { return fmt.Sprintf("it is larger than %d MB", w.largest()>>20) }

// objectOf is the name that git gives to a content.
func (w *Workspace) objectOf(size int64, content io.Reader) (string, error) {
	var h hash.Hash = sha1.New()
	if len(w.point.Base) == 64 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	if n, err := io.Copy(h, io.LimitReader(content, size+1)); err != nil || n != size {
		return "", errors.Join(err, errChanged)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// readTree returns the files of a commit.
func (w *Workspace) readTree(ctx context.Context, commit string) (map[string]entry, error) {
	out, err := w.objects.run(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, fmt.Errorf("read the files of the commit %s: %w", commit, err)
	}
	tree := map[string]entry{}
	for line := range bytes.SplitSeq(out, []byte{0}) {
		head, name, ok := strings.Cut(string(line), "\t")
		if f := strings.Fields(head); ok && len(f) == 3 {
			tree[name] = entry{f[0], f[2]}
		}
	}
	return tree, nil
}

// Store stores the files as they are now, after a call, and returns the point to go into the
// journal. When it returns without an error, the files survive this machine.
func (w *Workspace) Store(ctx context.Context, call string) (*Point, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.store(ctx, call)
	if err != nil {
		w.seen = map[string]seen{}
		return nil, fmt.Errorf("store the files of the run: %w", explain(err, w.Dir))
	}
	return p, nil
}

func (w *Workspace) store(ctx context.Context, call string) (*Point, error) {
	refs, err := w.folderRefs()
	if err != nil {
		return nil, err
	}
	var left []leftOut
	mark := refs.mark
	if mark != w.refs {
		if why := w.takeRefs(ctx, refs); why != "" { // the next call tries again
			left, mark = append(left, leftOut{".git", why, true}), ""
		}
	}
	if err := w.readBranches(ctx, refs, mark); err != nil {
		return nil, err
	}
	im := &importer{w: w, ctx: ctx}
	defer im.abort()
	more, err := w.scan(ctx, im.change)
	if err != nil {
		return nil, err
	}
	left = slices.Concat(left, w.branches.left, more)
	p := *w.point
	p.Call, p.Path, p.Left = call, w.work, firstFew(left)
	if mark != w.refs && im.cmd == nil {
		if err := im.start(); err != nil {
			return nil, err
		}
	}
	if im.cmd != nil {
		if err := w.commit(ctx, im, &p); err != nil {
			return nil, err
		}
	}
	known, _ := readNoted(w.root)                                                 // one that cannot be read is replaced
	if known == nil || im.cmd != nil || !slices.Equal(p.Left, known.Point.Left) { // else nothing has changed but the call
		w.refs = mark
		if err := w.note(&p); err != nil {
			return nil, err
		}
	}
	w.point, w.left = &p, map[string]bool{}
	for _, l := range left {
		w.left[l.path] = true
	}
	return &p, nil
}

// commit finishes a commit and stores its objects.
func (w *Workspace) commit(ctx context.Context, im *importer, p *Point) error {
	if err := im.finish(); err != nil {
		return err
	}
	out, err := w.objects.text(ctx, "rev-parse", pointRef, pointRef+"^{tree}")
	if err != nil {
		return err
	}
	var ok bool
	if p.Commit, p.Tree, ok = strings.Cut(out, "\n"); !ok {
		return errors.New("git did not report the commit and tree that it wrote")
	}
	if err := w.keep(ctx, p, w.point); err != nil {
		return err
	}
	for _, c := range im.changes {
		if c.mode == "" {
			delete(w.tree, c.path)
			delete(w.seen, c.path)
			continue
		}
		w.tree[c.path], w.seen[c.path] = c.entry, c.seen
	}
	return nil
}

// note writes down what the folder was when it was stored, so that another worker can tell whether
// it has changed since.
func (w *Workspace) note(p *Point) error {
	raw, err := json.Marshal(&noted{Spec: w.Spec, Run: w.Run, Point: p, Refs: w.refs})
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(w.root, notedName), raw)
}
