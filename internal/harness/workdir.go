package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// tools are those of a set, looking for files where the agent is.
func (p *post) tools(set *tool.Set) *tool.Set {
	world := p.world.World
	world.Dir = p.dir
	own := map[string]tool.Tool{}
	for _, t := range world.Tools() {
		if t.Name == "Glob" || t.Name == "Grep" {
			own[t.Name] = t
		}
	}
	var ours, foreign []tool.Tool
	for _, t := range set.All() {
		if mine, ok := own[t.Name]; ok {
			t = &mine
		}
		if t.Source == "" {
			ours = append(ours, *t)
		} else {
			foreign = append(foreign, *t)
		}
	}
	return tool.NewSet(set.Session(), ours, foreign, nil)
}

// strays says what is wrong with a call that would change the project's own files
// instead of the copy's; "" if nothing is.
func (p *post) strays(c *tool.Call) string {
	p.mu.Lock()
	tree := p.tree
	p.mu.Unlock()
	path := changed(c)
	if tree == nil || path == "" || !slices.Contains(fileTools, c.Tool) {
		return ""
	}
	rel, err := filepath.Rel(p.world.Project.Dir, path)
	if err != nil || !filepath.IsLocal(rel) || within(tree.Path, path) {
		return ""
	}
	return fmt.Sprintf("You work in a copy of the repository, and this file is not in it. Use %s instead.", filepath.Join(tree.Path, rel))
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
