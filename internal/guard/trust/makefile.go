package trust

import (
	"os"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// A makefile is what of makefiles says which commands a target runs.
type makefile struct {
	vars    map[string]string
	needs   map[string][]string // the targets that a target needs
	recipes map[string][]string // the lines that it runs
	first   string              // the target that is made if none is named
}

var (
	include    = lazyregexp.New(`^ *-?s?include[ \t]+(.+)$`)
	assignment = lazyregexp.New(`^ *(?:export +|override +)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*(?::{0,3}|\?|\+)=[ \t]*(.*)$`)
	rule       = lazyregexp.New(`^([^\t #:=][^:=]*)::?([^=].*)?$`)
	// reference is a variable, a function or one of make's own names in a recipe.
	reference = lazyregexp.New(`\$\$|\$[({]([^(){}]*)[)}]|\$.`)
)

// read adds what a makefile says, and returns what it includes.
func (m *makefile) read(text string) (included []string) {
	var targets []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			for _, t := range targets {
				m.recipes[t] = append(m.recipes[t], strings.TrimLeft(recipe, "@+- \t"))
			}
			continue
		}
		if found := include.FindStringSubmatch(line); found != nil {
			included = append(included, m.fill(found[1]))
		} else if found := assignment.FindStringSubmatch(line); found != nil {
			m.vars[found[1]] = found[2]
		} else if found := rule.FindStringSubmatch(line); found != nil {
			needs, inline, _ := strings.Cut(found[2], ";")
			targets = strings.Fields(m.fill(found[1]))
			for _, t := range targets {
				m.needs[t] = append(m.needs[t], strings.Fields(m.fill(needs))...)
				if inline != "" {
					m.recipes[t] = append(m.recipes[t], inline)
				}
				if m.first == "" && !strings.HasPrefix(t, ".") {
					m.first = t
				}
			}
		}
	}
	return included
}

// lines are the commands that targets run, with those of what they need. Rules for
// patterns may be used for anything.
func (m *makefile) lines(targets []string) (lines []string) {
	for t := range m.recipes {
		if strings.Contains(t, "%") {
			targets = append(slices.Clip(targets), t)
		}
	}
	done := make(map[string]bool)
	for len(targets) > 0 {
		t := targets[0]
		targets = targets[1:]
		if done[t] {
			continue
		}
		done[t] = true
		targets = append(targets, m.needs[t]...)
		for _, line := range m.recipes[t] {
			lines = append(lines, m.fill(line))
		}
	}
	return lines
}

// builtin are variables that make has values for.
var builtin = map[string]string{"MAKE": "make", "CC": "cc", "CXX": "c++", "AR": "ar", "RM": "rm -f", "SHELL": "/bin/sh"}

// fill replaces variables by their values. What make computes stands for something
// that is not known.
func (m *makefile) fill(text string) string {
	for range maxDepth {
		filled := reference.ReplaceAllStringFunc(text, func(ref string) string {
			name := strings.Trim(ref, "$(){}")
			value, set := m.vars[name]
			switch {
			case ref == "$$":
				return "\x00"
			case set:
				return value
			case builtin[name] != "":
				return builtin[name]
			case name == "" || len(ref) == 2 || strings.ContainsAny(name, " @<^?*%+|:,"):
				return "\x00{MAKE_COMPUTES}"
			}
			return os.Getenv(name)
		})
		if filled == text {
			break
		}
		text = filled
	}
	return strings.ReplaceAll(text, "\x00", "$")
}
