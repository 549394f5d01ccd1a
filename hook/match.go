package hook

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/tool"
)

// A MatchFunc reports whether a permission rule such as Bash(git *) matches a call.
type MatchFunc func(rule string, t *tool.Tool, c *tool.Call) (bool, error)

// A target is what matchers are compared with.
type target struct {
	names []string   // of the tool, aliases too, or what the event is about; nil: nothing
	tool  *tool.Tool // nil if the event is about no call
	call  *tool.Call
	// effects selects the hooks that wait for what a call would change.
	effects bool
}

// callID names the call; "" if the event is about none.
func (t target) callID() string {
	if t.call == nil {
		return ""
	}
	return cmp.Or(t.call.ID, t.call.UseID)
}

// A matcher says which targets a hook is for.
type matcher struct {
	any  []alternative // one of them; nil means everything
	only *alternative  // and this one; nil means no more
	err  error         // it cannot be understood
}

// An alternative is a name, a rule or a regular expression. What looks like a rule is one
// for the tool it names, and an expression for all others: Bash(git *) is a rule for Bash,
// Notebook(Edit|Read) an expression for NotebookEdit.
type alternative struct {
	text string
	name string         // if it is a name, or a rule for the tool of that name
	rule bool           // it has an argument pattern
	expr *regexp.Regexp // nil if it is a name
}

var (
	plain    = lazyregexp.New(`^[A-Za-z0-9_ -]*$`)
	ruleForm = lazyregexp.New(`^([A-Za-z0-9_-]+)\(.*\)$`)
)

func newMatcher(h *Hook) matcher {
	var m matcher
	if h.Matcher != "" && h.Matcher != "*" {
		for _, text := range split(h.Matcher) {
			m.any = append(m.any, m.alternative(text))
		}
	}
	if h.If != "" {
		a := m.alternative(h.If)
		m.only = &a
	}
	return m
}

// Unmatched returns the alternatives of a matcher that match none of the names; nil if each
// matches one, or if the matcher is invalid, which its hook reports.
func Unmatched(text string, names []string) (idle []string) {
	m := newMatcher(&Hook{Matcher: text})
	if m.err != nil {
		return nil
	}
	for _, a := range m.any {
		if !slices.Contains(names, a.name) && (a.expr == nil || !slices.ContainsFunc(names, a.expr.MatchString)) {
			idle = append(idle, a.text)
		}
	}
	return idle
}

// alternative reads one of a matcher, or sets what is wrong with it.
func (m *matcher) alternative(text string) alternative {
	a := alternative{text: strings.TrimSpace(text)}
	if plain.MatchString(a.text) {
		a.name = a.text
		return a
	}
	if rule := ruleForm.FindStringSubmatch(a.text); rule != nil {
		a.name, a.rule = rule[1], true
	}
	expr, err := regexp.Compile(a.text)
	switch {
	case err == nil:
		a.expr = expr
	case !a.rule, strings.Contains(a.text, "(?"): // a rule need not be an expression
		m.err = fmt.Errorf("its matcher %q is neither a list of names nor a valid RE2 regular expression (RE2 has no lookaheads): %w", a.text, err)
	}
	return a
}

// split cuts a matcher at each | outside of brackets.
func split(text string) []string {
	var parts []string
	depth, start := 0, 0
	for i, c := range text {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '|':
			if depth == 0 {
				parts = append(parts, text[start:i])
				start = i + 1
			}
		}
	}
	return splitNames(append(parts, text[start:]))
}

// splitNames cuts parts such as Bash, Write at commas: people write lists of names so.
func splitNames(parts []string) []string {
	var all []string
	for _, part := range parts {
		names := strings.Split(part, ",")
		if slices.ContainsFunc(names, func(name string) bool { return strings.TrimSpace(name) == "" || !plain.MatchString(name) }) {
			names = []string{part}
		}
		all = append(all, names...)
	}
	return all
}

// matches reports whether a hook is for the target. An error is the hook's: an invalid
// matcher must not look like one that does not match.
func (m *matcher) matches(t target, rules MatchFunc) (bool, error) {
	if t.names == nil {
		return true, nil
	}
	if m.err != nil {
		return false, m.err
	}
	found := m.any == nil
	for _, a := range m.any {
		ok, err := a.matches(t, rules)
		if err != nil {
			return false, err
		}
		found = found || ok
	}
	if !found || m.only == nil {
		return found, nil
	}
	return m.only.matches(t, rules)
}

func (a *alternative) matches(t target, rules MatchFunc) (bool, error) {
	if slices.Contains(t.names, a.name) {
		if !a.rule || t.call == nil || rules == nil {
			return true, nil
		}
		ok, err := rules(a.text, t.tool, t.call)
		if err != nil {
			return false, fmt.Errorf("its matcher %s: %w", a.text, err)
		}
		return ok, nil
	}
	return a.expr != nil && slices.ContainsFunc(t.names, a.expr.MatchString), nil
}
