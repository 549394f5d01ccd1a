package guard

import (
	"cmp"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// Sensitivity says that a path names something to be careful with, and what that means for reading and writing it.
type Sensitivity struct {
	What        string // "" when it is nothing special
	Read, Write Decision
	Hard        bool   // not even a session that bypasses permissions writes it
	Acts        string // what a change could do, if that is not What
}

// Written is why it matters who writes the path. A secret may also be a file that makes
// programs run, which says more about a change.
func (s Sensitivity) Written() string { return cmp.Or(s.Acts, s.What) }

// A name is what follows from the spelling of a path alone.
type name struct {
	own, state bool
	run        string // why it will run
	found      []Sensitivity
}

// names are those of the last paths: each call looks at its path several times.
type names struct {
	mu   sync.Mutex
	last map[string]name
}

const mostNames = 256

func (n *names) of(g *Guard, p string) name {
	n.mu.Lock()
	known, ok := n.last[p]
	n.mu.Unlock()
	if ok {
		return known
	}
	holds := func(dir string) bool { return pathin.ContainsFold(dir, p) }
	known = name{
		own: slices.ContainsFunc(g.agent, holds), state: slices.ContainsFunc(g.state, holds),
		run: g.runOf(p), found: g.lookUp(p),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil || len(n.last) >= mostNames {
		n.last = map[string]name{}
	}
	n.last[p] = known
	return known
}
