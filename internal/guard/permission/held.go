package permission

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/tool"
)

// Held is what deny rules about paths keep every command from, also one that the user or a rule allowed. The
// kernel holds it: a command need not name a file to open it.
type Held struct {
	Closed []string // files and folders that no command opens
	Fixed  []string // those that no command changes
	Pinned []string // the folders above them, which keep their names
}

// heldFiles are the files found last. They are looked for again when something has changed
// where they were looked for.
type heldFiles struct {
	mu      sync.Mutex
	at      places
	found   Held
	err     error
	lookout *lookout
}

// Held lists the files and folders of deny rules as they are now. An error means that they
// cannot all be listed; it comes with those that were found last.
func (p *Policy) Held() (Held, error) {
	c := p.held
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.holdsPaths() {
		return Held{}, nil
	}
	if c.lookout != nil && c.at == p.real && c.lookout.unchanged(slices.Concat(c.found.Closed, c.found.Fixed)) {
		return c.found, c.err
	}
	c.lookout.close()
	s := &heldSearch{policy: p, lookout: newLookout()}
	found, err := s.find()
	if err != nil && c.at == p.real {
		found = c.found
	}
	c.at, c.found, c.err, c.lookout = p.real, found, err, s.lookout
	return found, err
}

// forget ends the watch over files.
func (c *heldFiles) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lookout.close()
	c.lookout = nil
}

// holdsPaths reports whether a rule denies opening or changing files.
func (p *Policy) holdsPaths() bool {
	return slices.ContainsFunc(p.deny, func(r *Rule) bool { return r.path != nil && (r.name == readRule || r.name == editRule) })
}

// guesses reports whether what a command would open must be read from its text: a rule
// wants to be asked about files, or the kernel cannot hold those that rules deny.
func (p *Policy) guesses() bool {
	if slices.ContainsFunc(p.ask, func(r *Rule) bool { return r.path != nil }) {
		return true
	}
	return p.holdsPaths() && p.unheld() != ""
}

// keepsFiles reports whether a confined command is kept from all that rules are about,
// also from the copies that git has.
func (p *Policy) keepsFiles() bool {
	if p.guesses() {
		return false
	}
	held, err := p.Held()
	return err == nil && (len(held.Closed) == 0 || p.checkHideable(held.Closed) == nil)
}

// unheld says why commands cannot be kept from the files that rules deny; "" if they can.
func (p *Policy) unheld() string {
	if p.sandbox.Holds != nil && !p.sandbox.Holds() {
		return "rules deny files, and this machine has no sandbox that keeps commands from them"
	}
	if _, err := p.Held(); err != nil {
		return err.Error()
	}
	return ""
}

// evaluateHeld looks whether the kernel keeps a command from what rules deny.
func (h *evaluation) evaluateHeld() {
	if h.denied != nil || h.effects != nil || !h.policy.holdsPaths() {
		return
	}
	if h.unheld = h.policy.unheld(); h.unheld == "" {
		h.held = true
	}
	if h.subject.kind == commandTool && (h.readOnly || h.onlyEdits()) { // all that it opens is known
		h.unheld = ""
	}
}

// onlyEdits reports whether all that a command does is change files that it names, none of which has
// another name.
func (h *evaluation) onlyEdits() bool {
	a := h.analysis
	reads, writes := h.look(a.Reads), h.look(a.Writes)
	return a.Exact && len(a.Allow) > 0 && !slices.ContainsFunc(a.Allow, func(c shell.Command) bool { return !c.Edit }) &&
		!slices.ContainsFunc(reads, func(o operand) bool { return o.Dynamic || shared(o) }) &&
		!slices.ContainsFunc(writes, func(o operand) bool { return o.Dynamic || o.Info.Mode.IsDir() || shared(o) })
}

// decideUnheld asks about a command that nothing keeps from what rules deny.
func (h *evaluation) decideUnheld() Decision {
	f := &finding{reason: h.unheld}
	if h.policy.mode == Bypass {
		f.message = "Denied: " + h.unheld + ". Use a tool that names its files, or ask the user to run the command."
		return h.end(tool.Deny, f)
	}
	return h.open(f)
}

// A heldSearch finds what deny rules are about, and remembers where it looked.
type heldSearch struct {
	policy  *Policy
	lookout *lookout
}

func (s *heldSearch) find() (Held, error) {
	var held Held
	var err error
	if held.Closed, err = s.matching(readRule); err != nil {
		return Held{}, err
	}
	if held.Fixed, err = s.matching(editRule); err != nil {
		return Held{}, err
	}
	if held.Closed, err = s.otherNames(held.Closed); err != nil {
		return Held{}, err
	}
	if held.Fixed, err = s.otherNames(held.Fixed); err != nil {
		return Held{}, err
	}
	roots := append(slices.Clone(s.policy.guard.Roots()), s.policy.real.project)
	for _, path := range slices.Concat(held.Closed, held.Fixed) {
		for dir := filepath.Dir(path); dir != "/" && !slices.ContainsFunc(roots, func(root string) bool { return pathin.Contains(dir, root) }); dir = filepath.Dir(dir) {
			if !slices.Contains(held.Pinned, dir) {
				held.Pinned = append(held.Pinned, dir)
			}
		}
	}
	return held, nil
}

// matching lists the files of the deny rules of one kind.
func (s *heldSearch) matching(name string) ([]string, error) {
	search := &ruleSearch{policy: s.policy, starts: map[string][]rulePattern{}, lookout: s.lookout, whole: name == editRule}
	for _, r := range s.policy.deny {
		if r.path == nil || r.name != name {
			continue
		}
		for _, base := range r.basesInTrees(s.policy.real) {
			if err := search.add(r, base); err != nil {
				return nil, err
			}
		}
	}
	for start, patterns := range search.starts {
		if err := search.walk(start, patterns); err != nil {
			return nil, err
		}
	}
	slices.Sort(search.found)
	return slices.Compact(search.found), nil
}

// A fileID is a file, whatever its names are.
type fileID struct{ dev, ino uint64 }

// otherNames adds the other names of files with more than one, as far as they lie in the
// folders of the session: a command makes no new ones, because the kernel refuses a link
// from one mount to another.
func (s *heldSearch) otherNames(paths []string) ([]string, error) {
	linked := map[fileID]bool{}
	for _, path := range paths {
		if err := s.each(path, func(_ string, id fileID, names uint64) {
			if names > 1 {
				linked[id] = true
			}
		}); err != nil {
			return nil, err
		}
	}
	if len(linked) == 0 {
		return paths, nil
	}
	all := slices.Clone(paths)
	for _, root := range s.policy.guard.Roots() {
		if err := s.each(root, func(file string, id fileID, _ uint64) {
			if linked[id] && !slices.ContainsFunc(paths, func(p string) bool { return pathin.Contains(p, file) }) {
				all = append(all, file)
			}
		}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// each calls f for every plain file at or below a path.
func (s *heldSearch) each(path string, f func(file string, id fileID, names uint64)) error {
	walked := 0
	return filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		if walked++; walked > maxWalked {
			return fmt.Errorf("%s has too many files to find those that rules deny", path)
		}
		if err != nil { // which no command could open either
			return nil
		}
		if e.IsDir() {
			s.lookout.look(file)
		}
		if !e.Type().IsRegular() {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if id, names, ok := namesOf(info); ok {
			f(file, id, names)
		}
		return nil
	})
}
