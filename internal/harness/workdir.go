package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/workspace/worktree"
	"github.com/haftdev/haft/tool"
)

// A post is where an agent works: in the project, or in a copy of the repository.
type post struct {
	world    *World
	id       string
	isolated bool

	mu   sync.Mutex
	tree *worktree.Tree // nil if it is not isolated, or there is none
}

// open gets the copy ready: a new one, or the one that it worked in before.
func (p *post) open(ctx context.Context) error {
	if !p.isolated {
		return nil
	}
	p.world.trees.Lock() // git wants one at a time
	defer p.world.trees.Unlock()
	tree, err := p.find(ctx)
	if err == nil {
		err = p.world.Shell.Move(p.id, tree.Path)
	}
	if err != nil {
		return fmt.Errorf("give the agent a copy of the repository: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tree = tree
	return nil
}

func (p *post) find(ctx context.Context) (*worktree.Tree, error) {
	repo, err := worktree.Open(ctx, p.world.Project.Dir)
	if err != nil {
		return nil, err
	}
	name := "agent-" + p.id
	if path := repo.Path(name); exists(path) {
		return repo.Find(ctx, path)
	}
	return repo.Add(ctx, name)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// close ends what the agent has started. The copy goes, unless there is work in it:
// then it says where that is.
func (p *post) close() (path, branch string) {
	p.world.Shell.EndAgent(p.id)
	if c := p.world.conversation.Load(); c != nil {
		if err := c.Journal().Rest(p.id); err != nil {
			p.world.emit(agent.Notice{Level: "warning", Text: "Write down what an agent did: " + err.Error()})
		}
	}
	p.mu.Lock()
	tree := p.tree
	p.tree = nil
	p.mu.Unlock()
	if tree == nil {
		return "", ""
	}
	p.world.trees.Lock()
	defer p.world.trees.Unlock()
	if loss, err := tree.Loss(context.Background()); err != nil || !loss.Empty() {
		return tree.Path, tree.Branch
	}
	if _, err := tree.Remove(context.Background(), nil); err != nil {
		return tree.Path, tree.Branch
	}
	return "", ""
}

// dir is where the agent is now.
func (p *post) dir() string { return p.world.Shell.Dir(p.id) }

// strays says what is wrong with a call that would change the project's own files
// instead of the copy's; "" if nothing is.
func (p *post) strays(t *tool.Tool, c *tool.Call) string {
	p.mu.Lock()
	tree := p.tree
	p.mu.Unlock()
	if tree == nil || t == nil || t.Command != nil { // commands run in the copy
		return ""
	}
	for _, path := range t.PathsOf(c).Writes {
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.dir(), path)
		}
		rel, err := filepath.Rel(p.world.Project.Dir, path)
		if err == nil && filepath.IsLocal(rel) && !within(tree.Path, path) {
			return fmt.Sprintf("You work in a copy of the repository, and this file is not in it. Use %s instead.", filepath.Join(tree.Path, rel))
		}
	}
	return ""
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
