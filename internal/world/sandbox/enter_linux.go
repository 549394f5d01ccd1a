package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
	"golang.org/x/sys/unix"
)

// A room is the file system of commands with one Spec while it is made. All
// that it shows is opened first, then everything becomes read-only, then what
// was opened is put in place, parents first.
type room struct {
	box  *Box
	spec *Spec
	open bool // everything can be written
	list []attachment
}

// An attachment is a tree and where it goes.
type attachment struct {
	path string
	rank rank
	tree int // a descriptor of open_tree or fsmount
	dir  bool
}

// A rank is which of several trees at one place lies above the others.
type rank int

const (
	rankPrivate rank = iota
	rankScratch
	rankRead
	rankWrite
	rankForeign
	rankProtect
	rankHide
)

func (r *room) close() {
	for _, a := range r.list {
		unix.Close(a.tree)
	}
}

func (r *room) collect() error {
	stage := r.box.opts.Stage
	if r.spec.Thin {
		return r.collectThin()
	}
	for _, dir := range privateDirs {
		if !isRealDir(dir) && dir != "/dev/shm" {
			continue
		}
		if err := r.bind(filepath.Join(stage, staged[dir]), dir, rankPrivate, dir == "/dev"); err != nil {
			return err
		}
	}
	if !r.box.opts.HostProcesses {
		// For root it is read-only: files there belong to the root of the machine.
		if err := r.bind(filepath.Join(stage, "proc"), "/proc", rankPrivate, r.box.root); err != nil {
			return err
		}
	}
	for _, dir := range r.spec.Scratch {
		if err := r.scratch(dir); err != nil {
			return err
		}
	}
	for _, dir := range r.spec.Read {
		if r.rewritten(dir) {
			continue
		}
		if err := r.bind(dir, dir, rankRead, true); err != nil {
			return err
		}
	}
	for _, dir := range r.spec.Write {
		if dir == "/" {
			continue
		}
		if err := r.bind(dir, dir, rankWrite, false); err != nil {
			return err
		}
	}
	for _, l := range r.spec.Layers {
		if err := r.layer(l); err != nil {
			return err
		}
	}
	for _, path := range r.spec.Foreign {
		if err := r.bind(path, path, rankForeign, true); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(slices.Concat(r.spec.Read, r.spec.Write), func(dir string) bool { return pathin.Contains(dir, stage) }) { // with the private directories of other rooms
		if err := r.bind(filepath.Join(stage, "emptydir"), stage, rankHide, true); err != nil {
			return err
		}
	}
	return errors.Join(r.protect(), r.hide())
}

// collectThin leaves all as it is, except for what the Spec names.
func (r *room) collectThin() error {
	for _, dir := range r.spec.Pin {
		if err := r.bind(dir, dir, rankWrite, false); err != nil {
			return err
		}
	}
	for _, path := range r.spec.Protect {
		if err := r.bind(path, path, rankProtect, true); err != nil {
			return err
		}
	}
	if err := r.bind(filepath.Join(r.box.opts.Stage, "emptydir"), r.box.opts.Stage, rankHide, true); err != nil {
		return err
	}
	return r.hide()
}

// rewritten reports whether a folder can be written anyway.
func (r *room) rewritten(dir string) bool {
	return slices.ContainsFunc(r.spec.Write, func(w string) bool { return pathin.Contains(w, dir) }) ||
		slices.ContainsFunc(r.spec.Layers, func(l Layer) bool { return pathin.Contains(l.Dir, dir) })
}

// bind shows a tree, with what is mounted in it, at a path. A tree that does not
// exist is left out.
func (r *room) bind(from, to string, rank rank, readOnly bool) error {
	source, err := openPlain(from)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return nil
	}
	if err != nil {
		return stepError(StepMount, from, err)
	}
	defer unix.Close(source)
	dir, err := isDirFD(source)
	if err != nil {
		return stepError(StepMount, from, err)
	}
	tree, err := unix.OpenTree(source, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return stepError(StepMount, from, err)
	}
	r.list = append(r.list, attachment{path: to, rank: rank, tree: tree, dir: dir})
	if readOnly {
		if err := setReadOnly(tree, true); err != nil {
			return stepError(StepMount, from, err)
		}
	}
	return nil
}

// scratch puts a throw-away layer on a folder. Where the kernel refuses it, the
// folder stays read-only.
func (r *room) scratch(dir string) error {
	r.box.layers++
	base := filepath.Join(r.box.opts.Stage, "layers", fmt.Sprint(r.box.layers))
	upper, work := filepath.Join(base, "upper"), filepath.Join(base, "work")
	if err := errors.Join(os.MkdirAll(upper, 0o755), os.Mkdir(work, 0o755)); err != nil {
		return stepError(stepLayer, base, err)
	}
	tree, err := overlay(Layer{Dir: dir, Upper: upper, Work: work})
	if err != nil {
		return r.bind(dir, dir, rankScratch, true)
	}
	r.list = append(r.list, attachment{path: dir, rank: rankScratch, tree: tree, dir: true})
	return nil
}

func (r *room) layer(l Layer) error {
	if l.Work == "" {
		return r.bind(l.Upper, l.Dir, rankWrite, false)
	}
	tree, err := overlay(l)
	if err != nil {
		return stepError(stepLayer, l.Dir, err)
	}
	r.list = append(r.list, attachment{path: l.Dir, rank: rankWrite, tree: tree, dir: true})
	return nil
}

// protect puts read-only trees on what must not be written, and makes every
// folder above it a mount as well: a folder that is one cannot be renamed, which
// would carry the protected path away.
func (r *room) protect() error {
	var done []string
	for _, path := range r.spec.Protect {
		top, ok := r.writableAbove(path)
		if !ok {
			continue
		}
		if _, err := os.Lstat(path); err != nil {
			continue // see Snapshot
		}
		for dir := filepath.Dir(path); dir != top && pathin.Contains(top, dir); dir = filepath.Dir(dir) {
			if slices.Contains(done, dir) || slices.Contains(r.spec.Protect, dir) {
				continue
			}
			done = append(done, dir)
			if err := r.bind(dir, dir, rankWrite, false); err != nil {
				return err
			}
		}
		if err := r.bind(path, path, rankProtect, true); err != nil {
			return err
		}
	}
	return nil
}

// writableAbove finds the folder of Write that a path lies in, the deepest one.
func (r *room) writableAbove(path string) (top string, ok bool) {
	for _, w := range r.spec.Write {
		if pathin.Contains(w, path) && len(w) > len(top) {
			top, ok = w, true
		}
	}
	return top, ok
}

// hide covers what must not be seen with something empty, and what must not be opened with
// something that no one may open.
func (r *room) hide() error {
	for _, path := range r.spec.Hide {
		if err := r.cover(path, "empty", "emptydir"); err != nil {
			return err
		}
	}
	for _, path := range r.spec.Deny {
		if err := r.cover(path, "closed", "closeddir"); err != nil {
			return err
		}
	}
	return nil
}

// cover puts a file or a folder of the stage on a path.
func (r *room) cover(path, file, dir string) error {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return stepError(StepMount, path, err)
	}
	from := file
	if isRealDir(real) {
		from = dir
	}
	// What would be shown inside a covered folder is covered with it.
	r.list = slices.DeleteFunc(r.list, func(a attachment) bool {
		inside := a.path != real && pathin.Contains(real, a.path)
		if inside {
			unix.Close(a.tree)
		}
		return inside
	})
	return r.bind(filepath.Join(r.box.opts.Stage, from), real, rankHide, true)
}

// mount makes everything read-only and puts the trees in place.
func (r *room) mount() error {
	if !r.open {
		if err := setReadOnly(unix.AT_FDCWD, true); err != nil {
			return stepError(stepRoom, "", err)
		}
	}
	slices.SortStableFunc(r.list, func(a, b attachment) int {
		return cmp.Or(cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")), cmp.Compare(a.rank, b.rank))
	})
	for _, a := range r.list {
		if err := r.attach(a); err != nil {
			return err
		}
	}
	return r.verify()
}

func (r *room) attach(a attachment) error {
	target, err := openPlain(a.path)
	mayGo := a.rank == rankHide || a.rank == rankForeign
	if err == unix.ENOENT && mayGo {
		return nil // in a private directory there is nothing to hide, and what others had may be gone
	}
	if err == unix.ENOENT {
		if err := r.makeMountPoint(a); err != nil {
			return stepError(stepRoom, a.path, err)
		}
		target, err = openPlain(a.path)
	}
	if err != nil {
		return stepError(stepRoom, a.path, err)
	}
	defer unix.Close(target)
	err = unix.MoveMount(a.tree, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err == unix.ENOENT && mayGo { // in this moment
		return nil
	}
	return stepError(stepRoom, a.path, err)
}

// makeMountPoint makes a place in a private directory, where the one outside is
// covered.
func (r *room) makeMountPoint(a attachment) error {
	inPrivate := slices.ContainsFunc(privateDirs, func(dir string) bool { return pathin.Contains(dir, a.path) })
	if !inPrivate {
		return unix.ENOENT
	}
	if a.dir {
		return os.MkdirAll(a.path, 0o755)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(a.path), 0o755), os.WriteFile(a.path, nil, 0o600))
}

// verify looks that what was asked for is so.
func (r *room) verify() error {
	if r.open {
		return nil
	}
	var stat unix.Statfs_t
	if err := unix.Statfs("/", &stat); err != nil {
		return stepError(stepRoom, "", err)
	}
	if stat.Flags&unix.ST_RDONLY == 0 {
		return &StepError{Step: stepRoom, Text: "it is still writable"}
	}
	return nil
}

// overlay makes a mount of the layer on its folder, not yet anywhere.
func overlay(l Layer) (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fs)
	for _, o := range []struct{ key, path string }{{"lowerdir", l.Dir}, {"upperdir", l.Upper}, {"workdir", l.Work}} {
		fd, err := openPlain(o.path)
		if err != nil {
			return 0, err
		}
		defer unix.Close(fd)
		// By descriptor: names may be long and hold what separates options.
		if err := unix.FsconfigSetString(fs, o.key, fmt.Sprintf("/proc/self/fd/%d", fd)); err != nil {
			return 0, err
		}
	}
	if err := unix.FsconfigSetFlag(fs, "userxattr"); err != nil {
		return 0, err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return 0, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID)
}

func setReadOnly(tree int, recursive bool) error {
	flags := uint(unix.AT_EMPTY_PATH)
	path := ""
	if tree == unix.AT_FDCWD {
		flags, path = 0, "/"
	}
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	return unix.MountSetattr(tree, path, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// openPlain opens a path in which no symbolic link is followed: commands may
// have planted some since the path was resolved.
func openPlain(path string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
}

func isDirFD(fd int) (bool, error) {
	var stat unix.Stat_t
	err := unix.Fstat(fd, &stat)
	return stat.Mode&unix.S_IFMT == unix.S_IFDIR, err
}

func isRealDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
