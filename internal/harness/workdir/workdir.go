// Package workdir is where the agents that others start work: in the project, or each in
// a copy of the repository that goes when there is no work in it.
//
//	dirs := workdir.New(&workdir.Options{Root: root, Shell: shell, Interpreters: interpreters, Link: link})
//	dir := dirs.For(id, isolated)
//	err := dir.Open(ctx)
//	path, branch := dir.Close()
package workdir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/link"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/world/workspace/worktree"
)

// Options are what working directories need. All must be set.
type Options struct {
	Root         string // of the project
	Shell        *bash.Tools
	Interpreters *repl.Tools
	Link         *link.Link
}

// Dirs makes the working directories of a conversation's agents.
type Dirs struct {
	opts Options
	git  sync.Mutex // git makes and removes one worktree at a time
}

// New returns the working directories of a project.
func New(opts *Options) *Dirs { return &Dirs{opts: *opts} }

// For returns where the agent of an id works; isolated says that it is to be a copy of
// the repository.
func (d *Dirs) For(id string, isolated bool) *Dir { return &Dir{dirs: d, id: id, Isolated: isolated} }

// A Dir is where one agent works.
type Dir struct {
	// Isolated says that it is a copy of the repository.
	Isolated bool
	// Folder is one of the project, if it is not the project itself.
	Folder string

	dirs *Dirs
	id   string

	mu   sync.Mutex
	tree *worktree.Tree // nil if it is not isolated, or there is none
}

// Open gets the folder ready, or the copy: a new one, or the one that it worked in before.
func (d *Dir) Open(ctx context.Context) error {
	if !d.Isolated {
		if d.Folder == "" {
			return nil
		}
		if err := d.dirs.opts.Shell.Move(d.id, d.Folder, d.Folder); err != nil {
			return fmt.Errorf("could not start the agent in %s: %w", d.Folder, err)
		}
		return nil
	}
	d.dirs.git.Lock() // git wants one at a time
	defer d.dirs.git.Unlock()
	tree, err := d.find(ctx)
	if err == nil {
		err = d.dirs.opts.Shell.Move(d.id, tree.Path, tree.Path)
	}
	if err != nil {
		return fmt.Errorf("could not give the agent a copy of the repository: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tree = tree
	return nil
}

func (d *Dir) find(ctx context.Context) (*worktree.Tree, error) {
	repo, err := worktree.Open(ctx, d.dirs.opts.Root)
	if err != nil {
		return nil, err
	}
	name := "agent-" + d.id
	path := repo.Path(name)
	if _, err := os.Lstat(path); err == nil {
		return repo.Find(ctx, path)
	}
	return repo.Add(ctx, name)
}

// Close ends what the agent has started. The copy goes, unless there is work in it:
// then it says where that is.
func (d *Dir) Close() (path, branch string) {
	d.dirs.opts.Shell.EndAgent(d.id)
	if i := d.dirs.opts.Interpreters; i != nil {
		i.EndAgent(d.id)
	}
	if s := d.dirs.opts.Link.Journal(); s != nil {
		if err := s.Rest(d.id); err != nil {
			d.dirs.opts.Link.Emit(agent.Notice{Level: "warning", Text: "Could not save the agent's transcript: " + err.Error()})
		}
	}
	d.mu.Lock()
	tree := d.tree
	d.tree = nil
	d.mu.Unlock()
	if tree == nil {
		return "", ""
	}
	d.dirs.git.Lock()
	defer d.dirs.git.Unlock()
	if loss, err := tree.Loss(context.Background()); err != nil || !loss.Empty() {
		return tree.Path, tree.Branch
	}
	if _, err := tree.Remove(context.Background(), nil); err != nil {
		return tree.Path, tree.Branch
	}
	return "", ""
}

// Path is where the agent is now.
func (d *Dir) Path() string { return d.dirs.opts.Shell.Dir(d.id) }

// Stray says what is wrong with changing a file of the project instead of the copy's;
// "" if nothing is.
func (d *Dir) Stray(path string) string {
	d.mu.Lock()
	tree := d.tree
	d.mu.Unlock()
	if tree == nil {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.Path(), path)
	}
	rel, ok := pathin.Below(d.dirs.opts.Root, path)
	if !ok || pathin.Contains(tree.Path, path) {
		return ""
	}
	return fmt.Sprintf("You work in a copy of the repository, and this file is not in it. Use %s instead.", filepath.Join(tree.Path, rel))
}
