package permission

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// hearFile hears a tool that reads or writes one path.
func (h *hearing) hearFile() {
	h.writes = h.subject.kind == editTool
	h.changes = h.writes
	f := h.policy.guard.Look(h.subject.path)
	h.match(func(r *Rule) bool { return h.coversFile(r, f) })
	op, sensitive := guard.Read, f.Sensitive.Read
	if h.writes {
		op, sensitive = guard.Write, f.Sensitive.Write
	}
	if h.writes && f.Sensitive.Hard {
		h.hard = f.Path + ": " + f.Sensitive.What
	}
	view := f.Verdict(op)
	if view.Decision == guard.Deny && h.denied == nil {
		h.denied = &finding{reason: view.Reason, message: "Not possible: " + view.Reason + "."}
	}
	h.matchAllow(func(r *Rule) bool { return h.coversFile(r, f) })
	inside := f.Root != ""
	switch {
	case sensitive != guard.Allow:
		h.protected = view.Reason
	case view.Decision == guard.Allow && !h.writes:
		h.readOnly = true
	case view.Decision == guard.Allow && inside:
		h.edits = true
	}
	if view.Decision == guard.Ask {
		h.why = view.Reason
	}
	h.suggest = h.fileRules(f)
}

// coversFile reports whether a rule is about this use of a file. Whoever may not
// read a file may not write it either.
func (h *hearing) coversFile(r *Rule, f guard.Facts) bool {
	switch {
	case r.names(h.subject.name) && r.spec == "":
		return true
	case r.name == editRule:
		return h.writes && r.coversPath(f, h.policy)
	case r.name == readRule:
		return (!h.writes || r.Behavior == tool.Deny) && r.coversPath(f, h.policy)
	}
	return false
}

// hearAddress hears a tool that fetches an address.
func (h *hearing) hearAddress() {
	host, clear := hostOf(h.subject.url)
	covers := func(r *Rule) bool {
		if !r.names(h.subject.name) {
			return false
		}
		if r.param != nil {
			return r.param.matches(&h.subject)
		}
		return r.domain == nil || clear && r.domain.matches(host)
	}
	h.match(covers)
	h.matchAllow(covers)
	if clear {
		if rule := "WebFetch(domain:" + host + ")"; !strings.Contains(host, "*") && h.usable(rule, covers) {
			h.suggest = []string{rule}
		}
	} else {
		h.why = "the address can be read in more than one way"
		h.allowed = nil
	}
}

// hearOther hears every other tool.
func (h *hearing) hearOther() {
	h.writes = true
	if t := h.call.Tool; t != nil {
		h.writes = !t.MarksOf(h.call.Call).ReadOnly
	}
	h.changes = h.writes
	covers := func(r *Rule) bool {
		return r.names(h.subject.name) && (r.param == nil || r.param.matches(&h.subject))
	}
	h.match(covers)
	h.matchAllow(covers)
	rules := []string{h.subject.name}
	if own := h.call.Own.Suggestions; len(own) > 0 {
		rules = nil // the tool knows a narrower rule
		for _, s := range own {
			rules = append(rules, s.Rule)
		}
	}
	if slices.ContainsFunc(rules, func(rule string) bool { return h.usable(rule, covers) }) {
		h.suggest = rules
	}
}
