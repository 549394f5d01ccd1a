package guard

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/internal/secret"
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

const (
	whatState = "haft keeps its record of writes here, and the contents they replaced"
	whatOwn   = "only haft itself may change its own settings, trust and logs"
	whatKept  = "files that the session saved may be read but not changed"
	whatBare  = "the files of an embedded bare repository can run programs"
)

// sensitive judges every spelling of a path and takes the strictest view.
func (g *Guard) sensitive(f Facts) Sensitivity {
	var worst Sensitivity
	take := func(s Sensitivity) {
		if s.Read == Allow && s.Write >= worst.Write {
			worst.Acts = s.What
		} else if s.Write > worst.Write {
			worst.Acts = ""
		}
		if worst.What == "" {
			worst = s
		}
		if s.Write > worst.Write || s.Read > worst.Read {
			worst.What = s.What
		}
		worst.Read, worst.Write, worst.Hard = max(worst.Read, s.Read), max(worst.Write, s.Write), worst.Hard || s.Hard
	}
	for _, p := range f.spellings() {
		n := g.names.of(g, p)
		if n.own {
			take(Sensitivity{What: whatOwn, Read: Allow, Write: Deny, Hard: true})
		}
		if n.state {
			s := Sensitivity{What: whatState, Read: Ask, Write: Deny, Hard: true}
			if f.Kept {
				s.Read = Allow
			}
			take(s)
		}
		if n.run != "" {
			take(Sensitivity{What: n.run, Read: Allow, Write: Ask})
		}
		for _, s := range n.found {
			take(s)
		}
	}
	if f.Kept {
		take(Sensitivity{What: whatKept, Read: Allow, Write: Deny, Hard: true})
	}
	if worst.Write == Allow && f.Root != "" && g.inBareRepository(f) { // .git itself has its own reason
		take(Sensitivity{What: whatBare, Read: Allow, Write: Ask})
	}
	if worst.Acts == worst.What {
		worst.Acts = ""
	}
	return worst
}

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

// lookUp finds what one spelling names: a secret, which is not written either, and something that acts on whoever uses it.
func (g *Guard) lookUp(p string) (found []Sensitivity) {
	n := g.where.Names(p)
	switch e := n.Look(); e.Level {
	case secret.Closed:
		found = append(found, Sensitivity{What: e.What, Read: Deny, Write: Deny, Hard: true})
	case secret.Guarded:
		found = append(found, Sensitivity{What: e.What, Read: Ask, Write: Ask})
	}
	rules := compiled()
	for i := range rules {
		if rules[i].pattern.Matches(&n) {
			return append(found, rules[i].what)
		}
	}
	return found
}

// matcher is a rule taken apart.
type matcher struct {
	pattern secret.Pattern
	what    Sensitivity
}

// compiled takes the rules apart, once.
var compiled = sync.OnceValue(func() []matcher {
	out := make([]matcher, len(rules))
	for i, r := range rules {
		out[i] = matcher{secret.Parse(r.pattern), Sensitivity{What: r.what, Read: Allow, Write: r.write, Hard: r.hard}}
	}
	return out
})

// inBareRepository reports whether a directory between the root and the path is a repository without a work tree, or would
// become one by what is written: git takes any folder with HEAD, objects and refs for one and does what its config says.
func (g *Guard) inBareRepository(f Facts) bool {
	if filepath.Base(f.Real) == "HEAD" {
		return true // the rest may come in any order
	}
	part := f.Real // in dir
	for dir := filepath.Dir(f.Real); pathin.Contains(f.Root, dir) && dir != f.Root; part, dir = dir, filepath.Dir(dir) {
		head := g.is(filepath.Join(dir, "HEAD"), 0) || g.is(filepath.Join(dir, "HEAD"), fs.ModeSymlink)
		switch filepath.Base(part) {
		case "objects", "refs", "commondir":
			if head {
				return true
			}
		}
		if head && g.isBare(dir) {
			return true
		}
	}
	return false
}

func (g *Guard) isBare(dir string) bool {
	return g.is(filepath.Join(dir, "commondir"), 0) || g.is(filepath.Join(dir, "objects"), fs.ModeDir) && g.is(filepath.Join(dir, "refs"), fs.ModeDir)
}

// InBareRepository reports whether a folder of the project is in a repository without a work tree, whose settings came with
// the project or were written by a tool. The project itself may be one.
func (g *Guard) InBareRepository(dir string) bool {
	f := g.Look(dir)
	f.Real = filepath.Join(f.Real, "x") // something in it
	return f.Root != "" && g.inBareRepository(f)
}

func (g *Guard) is(p string, t fs.FileMode) bool {
	info, err := g.fs.Lstat(p)
	return err == nil && info.Mode.Type() == t
}
