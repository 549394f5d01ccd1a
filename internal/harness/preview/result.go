package preview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A Result is a command that ran, and what it would change.
type Result struct {
	Task *shellrun.Task
	// Box is what it ran in.
	Box *sandbox.Spec
	// Copied says that it ran in a copy of the folders, and why; "" for an overlay.
	Copied string
	// Refused are the hosts that it wanted to reach and could not.
	Refused []string
	// Outside are paths outside of the folders that it changed or deleted; that is dropped.
	Outside []string
	// Caches is how many files it wrote in caches; they are dropped.
	Caches int
	// LeftOut are sockets and devices that it made, which cannot be applied.
	LeftOut []string

	request Request
	dirs    []string
	entries []entry
	unsure  []string
	broken  error  // why the change is not known
	dir     string // where the shell is after the command
	cleanup []func() error
}

// Changed reports whether there is anything to apply.
func (r *Result) Changed() bool { return len(r.entries) > 0 }

// ChangesGit reports whether a git repository is among the changes.
func (r *Result) ChangesGit() bool {
	return slices.ContainsFunc(r.entries, func(e entry) bool { return strings.Contains(e.path+"/", "/.git/") })
}

// Drop forgets the changes. After Apply it only gives the space back.
func (r *Result) Drop() error {
	var failed []error
	for _, f := range r.cleanup {
		failed = append(failed, f())
	}
	r.cleanup = nil
	return errors.Join(failed...)
}

// Preview returns what Apply would change in the folders as they are now.
func (r *Result) Preview(context.Context) (*tool.Preview, error) {
	if r.broken != nil {
		return nil, r.broken
	}
	list, err := r.rebased()
	if err != nil {
		return nil, err
	}
	return r.show(list), nil
}

// rebased returns the entries against the folders as they are now: unchanged where
// nobody else changed anything, merged where texts can be.
func (r *Result) rebased() ([]entry, error) {
	var conflicts []string
	list := make([]entry, 0, len(r.entries))
	present := newPresent(r.request.Limits)
	for _, e := range r.entries {
		now, err := present.look(e.path, e.before)
		if err != nil {
			return nil, err
		}
		switch merged, ok := e.merge(now); {
		case !ok:
			conflicts = append(conflicts, e.path)
		case !merged.same():
			list = append(list, merged)
		}
	}
	if conflicts != nil {
		return nil, &ConflictError{Paths: conflicts, While: "the change waited for approval"}
	}
	return list, nil
}

// Apply makes the change, without the files that are dropped: all of it, or nothing and
// an error. It is recorded in the session under the name, such as the call that it
// belongs to, and a rewind to that name undoes it. A session that is not on the disk
// cannot hold it.
func (r *Result) Apply(ctx context.Context, s *session.Session, name string, dropped ...string) error {
	if r.broken != nil {
		return r.broken
	}
	list, err := r.rebased()
	if err != nil {
		return err
	}
	if list = without(list, dropped); len(list) == 0 {
		r.moveShell()
		return nil
	}
	if s == nil || s.Dir() == "" {
		return errors.New("nothing was changed: changes can only be applied in a saved session, and this one is not saved")
	}
	plan := &checkpoint.Plan{}
	for i := range list {
		e := &list[i]
		if err := e.keep(ctx, s.Blobs()); err != nil {
			return fmt.Errorf("nothing was changed: %w", err)
		}
		plan.Steps = append(plan.Steps, checkpoint.Step{Path: e.path, Want: e.after.File, Had: e.before.File, InPlace: e.inPlace})
	}
	_, err = plan.Apply(ctx, s, &checkpoint.ApplyOptions{Name: name})
	var conflict *checkpoint.ConflictError
	var partial *checkpoint.PartialError
	switch {
	case errors.As(err, &partial):
		return fmt.Errorf("only a part was changed: another program has moved folders meanwhile, so that %s could not be changed back. The next start of this session tries again", Listed(partial.Paths, 5))
	case errors.As(err, &conflict):
		return &ConflictError{Paths: conflict.Paths, While: "the change was applied"}
	case err != nil:
		return fmt.Errorf("nothing was changed: %s", strings.TrimPrefix(err.Error(), "rewind: "))
	}
	r.moveShell()
	return nil
}

// without leaves paths out of a list that is sorted by path, and with them what
// cannot be without them: a folder that goes although something in it stays, a file in
// the place of such a folder, and a new folder of which nothing is left.
func without(list []entry, dropped []string) []entry {
	if len(dropped) == 0 {
		return list
	}
	out := map[string]bool{}
	for _, path := range dropped {
		out[path] = true
	}
	for _, path := range dropped {
		for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			n, found := slices.BinarySearchFunc(list, dir, func(e entry, p string) int { return strings.Compare(e.path, p) })
			if found && list[n].before.Mode.IsDir() && !list[n].after.Mode.IsDir() {
				out[dir] = true
			}
		}
	}
	var kept []entry
	for i := len(list) - 1; i >= 0; i-- { // what is in a folder before the folder
		e := &list[i]
		empty := isDir(e) && !e.before.Exists() && hasBelow(list, i) &&
			!slices.ContainsFunc(kept, func(k entry) bool { return strings.HasPrefix(k.path, e.path+"/") })
		if !out[e.path] && !empty {
			kept = append(kept, *e)
		}
	}
	slices.Reverse(kept)
	return kept
}

// repositories sums up what changed in the folders of git itself.
func repositories(list []entry) []repository {
	var all []repository
	for i := range list {
		e := &list[i]
		dir := gitDir(e.path)
		if gitPart(e.path) == gitOther || e.path == dir || e.before.Mode.IsDir() || e.after.Mode.IsDir() {
			continue
		}
		n := slices.IndexFunc(all, func(r repository) bool { return r.dir == dir })
		if n < 0 {
			n = len(all)
			all = append(all, repository{dir: dir})
		}
		all[n].note(strings.TrimPrefix(e.path, dir+"/"), e)
	}
	return all
}

// show turns entries into what the user sees: what matters first, then files in
// the order of their names, then what is not meant to be read.
func (r *Result) show(list []entry) *tool.Preview {
	p := &tool.Preview{Ran: true, Notes: r.notes(list)}
	for i := range list {
		e := &list[i]
		if isDir(e) && hasBelow(list, i) {
			continue // its files say it
		}
		f := tool.FileChange{Path: e.path, Before: shown(e.before), After: shown(e.after), Folded: folded(e)}
		if r.request.Protected != nil && f.Folded != tool.FoldedGit {
			f.Protected = r.request.Protected(e.path)
		}
		if e.after.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 && e.after.Mode.IsRegular() {
			f.Protected = "it runs as its owner"
		}
		if f.Protected != "" {
			f.Folded = "" // a program that writes it must not hide it by calling it generated
		}
		p.Files = append(p.Files, f)
	}
	slices.SortStableFunc(p.Files, func(a, b tool.FileChange) int { return rank(&a) - rank(&b) })
	return p
}

func isDir(e *entry) bool {
	return (e.before.Mode.IsDir() || !e.before.Exists()) && (e.after.Mode.IsDir() || !e.after.Exists())
}

// hasBelow reports whether a folder that came or went has a path below it in the
// list, which is sorted by path.
func hasBelow(list []entry, i int) bool {
	if list[i].before.Exists() && list[i].after.Exists() {
		return false // its mode changed
	}
	prefix := list[i].path + "/"
	n, _ := slices.BinarySearchFunc(list, prefix, func(e entry, p string) int { return strings.Compare(e.path, p) })
	return n < len(list) && strings.HasPrefix(list[n].path, prefix)
}

func rank(f *tool.FileChange) int {
	switch {
	case f.Folded == tool.FoldedGit:
		return 3
	case f.Protected != "":
		return 0
	case f.Folded != "":
		return 2
	}
	return 1
}

// shown is a version for the user.
func shown(v version) *tool.Version {
	if !v.Exists() {
		return nil
	}
	s := &tool.Version{Mode: v.Mode, Size: v.size, Digest: v.Digest}
	switch {
	case v.Mode&fs.ModeSymlink != 0:
		s.Raw, s.Text, s.Size, s.Digest = []byte(v.Link), []byte(v.Link), int64(len(v.Link)), blob.Digest([]byte(v.Link))
	case !v.Mode.IsRegular():
	case !v.held:
		s.Binary = true
	default:
		s.Raw = v.raw
		if text, err := textfile.Parse(v.raw); err == nil {
			s.Text = text.Bytes()
		} else {
			s.Binary = len(v.raw) > 0
		}
	}
	if v.Attrs != "" {
		s.Digest = blob.Digest([]byte(s.Digest + v.Attrs)) // they are part of what is approved
	}
	return s
}

// folded is why nobody reads the change of a file; "" for one to read.
func folded(e *entry) string {
	name := filepath.Base(e.path)
	switch {
	case gitPart(e.path) != gitOther && !isProgram(e):
		return tool.FoldedGit
	case strings.HasSuffix(name, ".lock"), strings.HasSuffix(name, "-lock.json"), strings.HasSuffix(name, "-lock.yaml"), name == "go.sum", name == "npm-shrinkwrap.json":
		return "lock file"
	case strings.Contains(e.path, "/node_modules/"):
		return "installed"
	case e.before.Exists() && (isGenerated(e.before.raw) || strings.HasSuffix(name, ".min.js") || strings.HasSuffix(name, ".map")): // a new file only says so
		return "generated"
	}
	return ""
}

// isProgram reports whether a file that git does not run could be run: nothing of git's
// own is, but for the samples of hooks.
func isProgram(e *entry) bool {
	return e.after.Mode.IsRegular() && e.after.Mode&0o111 != 0 && !strings.HasSuffix(e.path, ".sample")
}

// isGenerated reports whether a text says of itself that a program wrote it.
func isGenerated(raw []byte) bool {
	head := raw[:min(len(raw), 1024)]
	return bytes.Contains(head, []byte("Code generated ")) && bytes.Contains(head, []byte("DO NOT EDIT")) || bytes.Contains(head, []byte("@generated"))
}

// notes are what is told beside the files.
func (r *Result) notes(list []entry) []string {
	var notes []string
	for _, repo := range repositories(list) {
		notes = append(notes, repo.String())
	}
	if r.Copied != "" {
		notes = append(notes, "It ran in a copy of the folders, because "+r.Copied+".")
	}
	if len(r.Refused) > 0 {
		notes = append(notes, "It tried to reach "+Listed(r.Refused, 5)+", but could not.")
	}
	if len(r.Outside) > 0 {
		notes = append(notes, "It changed "+Listed(r.Outside, 5)+" outside the project; that is dropped.")
	}
	if len(r.LeftOut) > 0 {
		notes = append(notes, "Sockets and devices that it created are left out: "+Listed(r.LeftOut, 5)+".")
	}
	if r.Caches > 0 {
		notes = append(notes, fmt.Sprintf("It also wrote %s in caches; cache writes are dropped.", plural.Of(r.Caches, "file")))
	}
	return notes
}
