package permission

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/tool"
)

// Hidden lists the files and folders that a rule denies reading, or wants to be asked about,
// as they are now. The caller hides them from a command that runs without a question.
// An error means that they cannot all be listed.
func (p *Policy) Hidden() ([]string, error) {
	s := &ruleSearch{policy: p, starts: map[string][]rulePattern{}}
	for _, r := range slices.Concat(p.deny, p.ask) {
		if r.path == nil || r.name != readRule {
			continue
		}
		for _, base := range r.basesInTrees(p.real) {
			if err := s.add(r, base); err != nil {
				return nil, err
			}
		}
	}
	for start, patterns := range s.starts {
		if err := s.walk(start, patterns); err != nil {
			return nil, err
		}
	}
	slices.Sort(s.found)
	return slices.Compact(s.found), nil
}

// HiddenFrom lists what a preview of the command of a call must not show: the files of
// Hidden, and those that may hold credentials in the folders that the command searches. A
// program that reads one by itself may need it.
func (p *Policy) HiddenFrom(c *tool.Call) ([]string, error) {
	hidden, err := p.Hidden()
	if err != nil {
		return nil, err
	}
	if c.Facts == nil {
		return nil, errors.New("nothing is known of the command")
	}
	hidden = append(hidden, p.forCall(c).analysisOf(c.Facts).Secrets...)
	slices.Sort(hidden)
	if hidden = slices.Compact(hidden); len(hidden) > maxHidden {
		return nil, errors.New("it searches folders with too many files that may hold credentials")
	}
	return hidden, nil
}

// The bounds of a search: a command is asked about instead of waiting for longer ones.
const (
	maxHidden = 1000
	maxWalked = 200_000
)

// A ruleSearch finds files that rules are about. Like the rules, it ignores case.
type ruleSearch struct {
	policy  *Policy
	starts  map[string][]rulePattern // the folders to look in
	inside  bool                     // links are not followed
	whole   bool                     // what is found may hold the project
	lookout *lookout                 // is told of the folders that are looked at; nil if no one asks
	walked  int
	found   []string
}

// A rulePattern is what a rule is about, below a folder.
type rulePattern struct {
	rule          *Rule
	base, pattern string
}

func newRulePattern(r *Rule, base string) rulePattern {
	pattern := strings.ToLower(r.path.pattern)
	if r.path.floats {
		pattern = path.Join("**", pattern)
	}
	return rulePattern{r, base, pattern}
}

func (h *rulePattern) matches(file string) bool {
	rel, err := filepath.Rel(h.base, file)
	return err == nil && rel != "." && doublestar.MatchUnvalidated(h.pattern, strings.ToLower(rel))
}

// add finds the folders that a rule may be about: its pattern often begins with names.
func (s *ruleSearch) add(r *Rule, base string) error {
	h := newRulePattern(r, base)
	if s.lookout != nil {
		s.lookout.patterns = append(s.lookout.patterns, h)
	}
	starts := []string{base}
	if fixed := literal(h.pattern); fixed != "" {
		for name := range strings.SplitSeq(fixed, "/") {
			var below []string
			for _, dir := range starts {
				names, err := s.namesIn(dir, name)
				if err != nil {
					return err
				}
				below = append(below, names...)
			}
			starts = below
		}
	}
	for _, start := range starts {
		switch {
		case h.matches(start):
			if err := s.hide(start, r); err != nil {
				return err
			}
		case start == "/":
			return fmt.Errorf("the rule %s may cover files anywhere on this machine", r.Text)
		case !slices.Contains(s.starts[start], h):
			s.starts[start] = append(s.starts[start], h)
		}
	}
	return nil
}

// namesIn returns the paths in a folder that have a name.
func (s *ruleSearch) namesIn(dir, name string) ([]string, error) {
	entries, err := s.read(dir)
	var paths []string
	for _, e := range entries {
		if strings.ToLower(e.Name()) == name {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

// hide adds a path, unless nothing could be done without it.
func (s *ruleSearch) hide(file string, r *Rule) error {
	for _, root := range append(s.policy.guard.Roots(), s.policy.real.project, s.policy.real.cwd) {
		if pathin.Contains(file, root) && !s.whole {
			return fmt.Errorf("the rule %s covers the whole folder %s", r.Text, root)
		}
	}
	if s.found = append(s.found, file); len(s.found) > maxHidden {
		return fmt.Errorf("the rule %s covers too many files", r.Text)
	}
	return nil
}

// walk looks at everything below a folder. A link to a folder elsewhere is another name for
// what is there, which a rule may be about.
func (s *ruleSearch) walk(start string, patterns []rulePattern) error {
	followed, linked := map[string]bool{}, map[string]bool{} // linked are folders that a link led to
	for dirs := []string{start}; len(dirs) > 0; {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		entries, err := s.read(dir)
		if err != nil {
			return err
		}
		if s.walked += len(entries); s.walked > maxWalked {
			return fmt.Errorf("%s has too many files to find those that the rule %s covers", start, patterns[0].rule.Text)
		}
		for _, e := range entries {
			file, isLink := filepath.Join(dir, e.Name()), e.Type()&fs.ModeSymlink != 0 && !s.inside
			names := []string{file}
			if isLink || linked[dir] {
				if real, err := filepath.EvalSymlinks(file); err == nil {
					names = append(names, real)
				}
			}
			if name, r := firstMatch(names, patterns); r != nil {
				if err := s.hide(name, r); err != nil {
					return err
				}
			} else if e.IsDir() || isLink && leadsElsewhere(file, start, followed) {
				dirs, linked[file] = append(dirs, file), isLink || linked[dir]
			}
		}
	}
	return nil
}

// firstMatch returns the first of the names of a file that a rule is about.
func firstMatch(names []string, patterns []rulePattern) (string, *Rule) {
	for _, name := range names {
		if i := slices.IndexFunc(patterns, func(h rulePattern) bool { return h.matches(name) }); i >= 0 {
			return name, patterns[i].rule
		}
	}
	return "", nil
}

// leadsElsewhere reports whether a link leads to a folder that is not looked at yet.
func leadsElsewhere(link, start string, followed map[string]bool) bool {
	target, err := filepath.EvalSymlinks(link)
	if err != nil || pathin.Contains(start, target) || followed[target] {
		return false
	}
	info, err := os.Stat(target)
	followed[target] = err == nil && info.IsDir()
	return followed[target]
}

// read lists a folder. One that cannot be entered either shows a command nothing.
func (s *ruleSearch) read(dir string) ([]fs.DirEntry, error) {
	if s.lookout != nil {
		s.lookout.look(dir)
	}
	file, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		if _, err := os.Lstat(dir + "/."); errors.Is(err, fs.ErrPermission) {
			return nil, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("could not look for files that rules cover: %w", err)
	}
	defer file.Close()
	entries, err := file.ReadDir(-1)
	if info, failed := file.Stat(); err != nil && failed == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("could not look for files that rules cover: %w", err)
	}
	return entries, nil
}
