package project

import (
	"crypto/rand"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace"
)

// Kept is what a session keeps in files for its model to read: the whole of long
// results, the output of commands, what servers sent that cannot be shown, and
// what its agents did. The model is given the paths, so it may read these files
// and no others of the state folder.
type Kept struct {
	store *output.Store
	mu    sync.Mutex
	dirs  []string // physical; the first is this process's own
	plan  string   // the file that the model may write its plan in; "" for none
}

func newKept() *Kept {
	name := time.Now().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:10])
	store := output.NewShared(keptRoot(), name, nil)
	k := &Kept{store: store}
	k.Add(store.Dir())
	return k
}

// keptRoot has a folder for each process.
func keptRoot() string { return filepath.Join(workspace.StateDir(), "results") }

// Add lets the model read a folder, which need not exist yet.
func (k *Kept) Add(dir string) {
	real := physical(dir)
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Contains(k.dirs, real) {
		k.dirs = append(k.dirs, real)
	}
}

// physical follows the links in the part of a path that exists.
func physical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(physical(parent), filepath.Base(path))
	}
	return path
}

// Holds reports whether a physical path is one of the session's.
func (k *Kept) Holds(path string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.dirs, func(dir string) bool { return pathin.Contains(dir, path) })
}

// folders are the folders and files of the session.
func (k *Kept) folders() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.dirs)
}

// BeginPlan names the file that the model may write its plan in from now on, and read. It need
// not exist yet; a link in its place leads nowhere.
func (k *Kept) BeginPlan(path string) {
	file := filepath.Join(physical(filepath.Dir(path)), filepath.Base(path))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.plan = file
	if !slices.Contains(k.dirs, file) {
		k.dirs = append(k.dirs, file)
	}
}

// PlanFile is the physical path of the file of the plan; "" if there is none.
func (k *Kept) PlanFile() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.plan
}

// Names are the folders of the processes that the session ran in, which the journal
// keeps: the paths in its history stay readable when it is resumed or forked.
func (k *Kept) Names() (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	root := physical(keptRoot())
	for _, dir := range k.dirs {
		if filepath.Dir(dir) == root {
			names = append(names, filepath.Base(dir))
		}
	}
	return names
}

// Recall lets the model read what earlier processes of the session kept.
func (k *Kept) Recall(names []string) {
	for _, name := range names {
		if name != "" && name != "." && name != ".." && filepath.Base(name) == name {
			k.Add(filepath.Join(keptRoot(), name))
		}
	}
}

// Spool keeps the output of commands beside long results.
func (k *Kept) Spool() *shellrun.SpoolOptions {
	return &shellrun.SpoolOptions{Dir: k.store.Dir(), Prepare: k.store.Sweep}
}
