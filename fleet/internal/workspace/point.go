package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// A Point is how the files were after a call. It goes into the journal.
type Point struct {
	// Call is the last call whose changes it has; "" before the first.
	Call string `json:"call,omitempty"`
	// Base is the commit that the run began with, Branch its branch.
	Base   string `json:"base"`
	Branch string `json:"branch,omitempty"`
	// Commit has the files, Tree is its tree.
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
	// Packs are the digests of what the repository does not have, the oldest first.
	Packs []string `json:"packs,omitempty"`
	// Path is the folder, on the worker's machine.
	Path string `json:"path"`
	// Left lists the files that are not stored, each with the reason.
	Left []string `json:"left,omitempty"`
}

// same reports whether two points have the same files.
func (p *Point) same(o *Point) bool { return p.Base == o.Base && p.Commit == o.Commit }

// maxPacks is how many packs a point may have: one that is made of more takes their place.
const maxPacks = 16

// state is what the message of a point's commit says about the folder's repository.
type state struct {
	Head  string            `json:"head"` // what HEAD says
	Heads map[string]string `json:"heads"`
	// Run is whose commit it is: those of two runs differ, and so do their packs.
	Run string `json:"run,omitempty"`
}

// commits are those that the branches name, each once.
func (s *state) commits() []string {
	var list []string
	for _, hash := range s.Heads {
		list = append(list, hash)
	}
	if isHash(s.Head) {
		list = append(list, s.Head)
	}
	slices.Sort(list)
	return slices.Compact(list)
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

// A DamagedError says that what was stored of a run cannot be read: it must not be continued with
// other files.
type DamagedError struct{ Why string }

func (e *DamagedError) Error() string { return e.Why }

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
