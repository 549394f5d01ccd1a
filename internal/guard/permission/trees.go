package permission

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/tool"
)

// evaluateTrees looks for files that a rule is about in the folders that a command copies,
// moves or deletes as a whole. A copy would have another name, which no rule is about.
func (h *evaluation) evaluateTrees(a *shell.Analysis) {
	for _, o := range h.look(a.ReadTrees) {
		h.evaluateTree(o, a.FollowsLinks, readRule)
	}
	for _, o := range h.look(a.WriteTrees) {
		h.evaluateTree(o, false, readRule, editRule)
	}
}

// evaluateTree applies the rules of some names to everything in a folder.
func (h *evaluation) evaluateTree(o operand, links bool, names ...string) {
	if !o.Info.Mode.IsDir() { // a folder that the command makes before may be in its name
		name := filepath.Clean(o.Value)
		if !filepath.IsAbs(name) {
			name = filepath.Join(cmp.Or(o.Cwd, h.policy.at.cwd), name)
		}
		o.Facts = h.policy.guard.Look(name)
	}
	if o.Dynamic || !o.Info.Mode.IsDir() {
		return
	}
	file, r, err := h.policy.coveredIn(o.Real, links, names...)
	switch {
	case err != nil:
		h.asked = cmp.Or(h.asked, byRule(r, fmt.Sprintf("%s may contain files that a rule covers (%v)", o.Facts.Path, err)))
	case r == nil:
	case r.Behavior == tool.Deny:
		h.denied = cmp.Or(h.denied, byRule(r, fmt.Sprintf("%s contains %s, which the rule covers", o.Facts.Path, file)))
	default:
		h.asked = cmp.Or(h.asked, byRule(r, fmt.Sprintf("%s contains %s, which the rule covers", o.Facts.Path, file)))
	}
}

// coveredIn returns a file in a folder that a rule of one of some names denies or asks about, and
// the rule: one that denies, if there is one. With an error, it is a rule that may be about a
// file there.
func (p *Policy) coveredIn(dir string, links bool, names ...string) (string, *Rule, error) {
	var patterns []rulePattern
	for _, r := range slices.Concat(p.deny, p.ask) {
		if r.path == nil || !slices.Contains(names, r.name) || !links && !r.reaches(dir, p) {
			continue
		}
		for _, base := range r.basesInTrees(p.real) {
			patterns = append(patterns, newRulePattern(r, base))
		}
	}
	if len(patterns) == 0 {
		return "", nil, nil
	}
	s := &ruleSearch{policy: p, inside: !links}
	if err := s.walk(dir, patterns); err != nil {
		return "", patterns[0].rule, err
	}
	var first string
	var by *Rule
	for _, file := range s.found {
		if _, r := firstMatch([]string{file}, patterns); by == nil || by.Behavior != tool.Deny && r.Behavior == tool.Deny {
			first, by = file, r
		}
	}
	return first, by, nil
}
