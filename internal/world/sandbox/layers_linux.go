package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// Layers are fresh overlays on folders: a command's changes go to the upper directory
// of each overlay, and the folders themselves stay as they are.
type Layers struct {
	List []Layer // for Spec.Layers; List[i].Upper holds what was changed in the i-th folder
	held []heldDir
}

// A heldDir is a directory for layers in one place, locked as long as it is in use.
type heldDir struct {
	place, path string
	lock        *os.File
}

// A LayerError says why a folder cannot have an overlay. A caller that wants to know
// what a command changes works on a copy of the folder instead.
type LayerError struct {
	Dir    string
	Reason LayerReason
	Err    error // what the kernel said, if it was asked
}

// A LayerReason is why an overlay does not work.
type LayerReason string

const (
	MountBelow    LayerReason = "another file system is mounted in the folder"
	ForeignOwner  LayerReason = "the folder belongs to another user or group"
	NoStore       LayerReason = "no file system here can store the changes"
	NotInBox      LayerReason = "commands have no private file system here"
	KernelRefused LayerReason = "the kernel refuses an overlay on the folder"
)

func (e *LayerError) Error() string {
	text := fmt.Sprintf("could not put an overlay on %s: %s", e.Dir, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *LayerError) Unwrap() error { return e.Err }

// AsLayerError returns the LayerError in err, if the command was not started because
// an overlay could not be mounted.
func AsLayerError(err error) (*LayerError, bool) {
	var layer *LayerError
	if errors.As(err, &layer) {
		return layer, true
	}
	var step *StepError
	if !errors.As(err, &step) || step.Step != stepLayer {
		return nil, false
	}
	layer = &LayerError{Dir: step.Path, Reason: KernelRefused, Err: step}
	if step.Errno == 0 {
		layer.Reason = NotInBox
	}
	return layer, true
}

// layersPrefix begins the names of directories that hold layers.
const layersPrefix = "haft-layers-"

// NewLayers makes the directories of a layer for each folder, in a new directory
// below store. The changes of a folder that contains the store, as the home folder often
// does, are kept elsewhere: the kernel refuses to keep them inside the folder itself. If
// a folder is the reason for an error, it is a [LayerError]. Remove deletes the
// directories.
func NewLayers(store string, dirs ...string) (*Layers, error) {
	mounts, err := mountPoints()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if err := fits(dir, mounts); err != nil {
			return nil, err
		}
	}
	if store, err = filepath.EvalSymlinks(store); err != nil {
		return nil, fmt.Errorf("make a directory for changes: %w", err)
	}
	l := &Layers{}
	for i, dir := range dirs {
		layer, err := l.newLayer(dir, store, strconv.Itoa(i))
		if err != nil {
			return nil, errors.Join(err, l.Remove())
		}
		l.List = append(l.List, layer)
	}
	return l, nil
}

func (l *Layers) newLayer(dir, store, name string) (Layer, error) {
	parent, err := l.parentFor(dir, store)
	if err != nil {
		return Layer{}, err
	}
	base := filepath.Join(parent, name)
	layer := Layer{Dir: dir, Upper: filepath.Join(base, "upper"), Work: filepath.Join(base, "work")}
	info, err := os.Stat(dir)
	if err == nil {
		// The merged folder has the mode of the upper one.
		err = errors.Join(os.Mkdir(base, 0o700), os.Mkdir(layer.Upper, 0o700), os.Chmod(layer.Upper, info.Mode()), os.Mkdir(layer.Work, 0o700))
	}
	if err != nil {
		return Layer{}, fmt.Errorf("make a directory for changes: %w", err)
	}
	return layer, nil
}

// parentFor finds a directory that can hold the changes of a folder: in the store if that
// works, or else where the machine keeps temporary files, on a disk rather than in memory.
func (l *Layers) parentFor(dir, store string) (string, error) {
	if holdsLayersOf(store, dir) {
		return l.hold(store)
	}
	for _, place := range elsewhere() {
		if !holdsLayersOf(place, dir) {
			continue
		}
		if path, err := l.hold(place); err == nil {
			return path, nil
		}
	}
	return "", &LayerError{Dir: dir, Reason: NoStore}
}

// elsewhere are the places for layers that cannot be in the store. No command in a box
// sees them: these directories are private there.
func elsewhere() []string {
	var places []string
	for _, path := range []string{"/var/tmp", "/tmp", "/dev/shm"} {
		if real, err := filepath.EvalSymlinks(path); err == nil && !slices.Contains(places, real) {
			places = append(places, real)
		}
	}
	return places
}

// holdsLayersOf reports whether a place can hold the changes of a folder.
func holdsLayersOf(place, dir string) bool {
	return !pathin.Contains(dir, place) && !isFS(place, unix.OVERLAYFS_SUPER_MAGIC)
}

// hold makes a locked directory in a place, or returns the one that is there.
func (l *Layers) hold(place string) (string, error) {
	for _, h := range l.held {
		if h.place == place {
			return h.path, nil
		}
	}
	path, err := os.MkdirTemp(place, layersPrefix)
	if err != nil {
		return "", fmt.Errorf("make a directory for changes: %w", err)
	}
	lock, err := lockDir(path)
	if err != nil {
		return "", errors.Join(fmt.Errorf("make a directory for changes: %w", err), os.Remove(path))
	}
	l.held = append(l.held, heldDir{place, path, lock})
	return path, nil
}

// Stores are the directories that hold the layers.
func (l *Layers) Stores() []string {
	var paths []string
	for _, h := range l.held {
		paths = append(paths, h.path)
	}
	return paths
}

// fits reports what is known to keep an overlay from working on a folder.
func fits(dir string, mounts []string) error {
	for _, m := range mounts {
		if m != dir && pathin.Contains(dir, m) {
			return &LayerError{Dir: dir, Reason: MountBelow}
		}
	}
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	if os.Geteuid() != 0 && (int(stat.Uid) != os.Geteuid() || int(stat.Gid) != os.Getegid()) {
		return &LayerError{Dir: dir, Reason: ForeignOwner}
	}
	return nil
}

func isFS(path string, magic int64) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && int64(stat.Type) == magic
}

// mountPoints lists where file systems are mounted.
func mountPoints() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list what is mounted: %w", err)
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			points = append(points, unescape.Replace(fields[4]))
		}
	}
	return points, nil
}

// Remove removes the layers with everything in them.
func (l *Layers) Remove() error {
	var failed []error
	for _, h := range l.held {
		failed = append(failed, removeLayers(h.path), h.lock.Close())
	}
	l.held = nil
	return errors.Join(failed...)
}

func removeLayers(dir string) error {
	// The kernel's work directory has no rights at all, and commands leave
	// folders without.
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// lockDir locks a directory that nobody else has locked.
func lockDir(dir string) (*os.File, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// SweepLayers removes layers that a killed program left below store or elsewhere.
// It leaves layers that are in use alone.
func SweepLayers(store string) error {
	var failed []error
	for _, dir := range append(elsewhere(), store) {
		found, _ := filepath.Glob(filepath.Join(dir, layersPrefix+"*"))
		for _, path := range found {
			if !isRealDir(path) || !isOwn(path) {
				continue
			}
			lock, err := lockDir(path)
			if err != nil {
				continue
			}
			failed = append(failed, removeLayers(path))
			lock.Close()
		}
	}
	return errors.Join(failed...)
}

func isOwn(path string) bool {
	var stat unix.Stat_t
	return unix.Lstat(path, &stat) == nil && int(stat.Uid) == os.Geteuid()
}
