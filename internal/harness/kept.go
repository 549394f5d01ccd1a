package harness

import (
	"crypto/rand"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/output"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/workspace"
)

// kept is what a session keeps in files for its model to read: the whole of long
// results, the output of commands, what servers sent that cannot be shown, and
// what its agents did. The model is given the paths, so it may read these files
// and no others of the state folder.
type kept struct {
	store *output.Store
	mu    sync.Mutex
	dirs  []string // physical; the first is this process's own
}

func newKept() *kept {
	name := time.Now().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:10])
	store := output.NewShared(keptRoot(), name, nil)
	k := &kept{store: store}
	k.add(store.Dir())
	return k
}

// keptRoot has a folder for each process.
func keptRoot() string { return filepath.Join(workspace.StateDir(), "results") }

// add lets the model read a folder, which need not exist yet.
func (k *kept) add(dir string) {
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

// holds reports whether a physical path is one of the session's.
func (k *kept) holds(path string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.dirs, func(dir string) bool { return within(dir, path) })
}

// names are the folders of the processes that the session ran in, which the journal
// keeps: the paths in its history stay readable when it is resumed or forked.
func (k *kept) names() (names []string) {
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

// recall lets the model read what earlier processes of the session kept.
func (k *kept) recall(names []string) {
	for _, name := range names {
		if name != "" && name != "." && name != ".." && filepath.Base(name) == name {
			k.add(filepath.Join(keptRoot(), name))
		}
	}
}

// spool keeps the output of commands beside long results.
func (k *kept) spool() *shellrun.SpoolOptions {
	return &shellrun.SpoolOptions{Dir: k.store.Dir(), Prepare: k.store.Sweep}
}

// Results keeps long results where the user and the model can find them afterwards,
// for a month and as long as there is room.
func (p *Project) Results() *output.Store { return p.kept.store }
