package permission

import (
	"cmp"
	"fmt"
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
	if o.Dynamic || !o.Info.Mode.IsDir() {
		return
	}
	s := &hiddenSearch{policy: h.policy, inside: !links}
	var patterns []hiddenPattern
	for _, r := range slices.Concat(h.policy.deny, h.policy.ask) {
		if r.path == nil || !slices.Contains(names, r.name) || !links && !r.reaches(o.Real, h.policy) {
			continue
		}
		for _, base := range r.basesInTrees(h.policy.real) {
			patterns = append(patterns, newHiddenPattern(r, base))
		}
	}
	if len(patterns) == 0 {
		return
	}
	if err := s.walk(o.Real, patterns); err != nil {
		h.asked = cmp.Or(h.asked, byRule(patterns[0].rule, fmt.Sprintf("%s may contain files that a rule covers (%v)", o.Facts.Path, err)))
	}
	for _, file := range s.found {
		_, r := firstMatch([]string{file}, patterns)
		f := byRule(r, fmt.Sprintf("%s contains %s", o.Facts.Path, file))
		if f.rule.Behavior == tool.Deny {
			h.denied = cmp.Or(h.denied, f)
		} else {
			h.asked = cmp.Or(h.asked, f)
		}
	}
}
