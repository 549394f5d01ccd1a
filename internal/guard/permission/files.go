package permission

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// evaluateFiles evaluates a tool that says which files it reads and writes. If one of them
// is denied, so is the call; what allows it must account for all of them.
func (h *evaluation) evaluateFiles() {
	files := h.files()
	h.writes = h.subject.kind == editTool
	h.match(func(r *Rule) bool {
		return slices.ContainsFunc(files, func(f touched) bool { return h.coversFile(r, f) })
	})
	h.checkSwapped(files)
	whole := h.call.Tool.OnlyFiles(h.call.Call) // else the files are not all that it is about
	if whole && h.writes && !slices.ContainsFunc(files, func(f touched) bool { return !f.Plan || f.Verdict(guard.Write).Decision != guard.Allow }) {
		h.writes, h.harmless = false, &finding{reason: "it is the session's plan"}
		return
	}
	h.readOnly, h.edits = whole && !h.writes, whole && h.writes
	for _, f := range files {
		h.evaluateFile(f)
	}
	h.allowed = h.accounts(files)
	if !h.writes && !whole {
		h.writes = !h.subject.Marks.ReadOnly
	}
	h.changes = h.writes
	for _, f := range files {
		h.suggest = append(h.suggest, h.fileRules(f)...)
	}
	if h.suggest = unique(h.suggest); !whole {
		h.suggest = []string{h.subject.name}
	}
}

// checkSwapped denies a call whose path led to another file when the tool looked at it: the tool
// would use that file, which no rule was compared with. Only a link that is changed meanwhile does so.
func (h *evaluation) checkSwapped(files []touched) {
	real := h.call.Own.Real
	if real == "" || h.denied != nil || slices.ContainsFunc(files, func(f touched) bool { return f.Real == real }) {
		return
	}
	h.denied = &finding{
		reason:  "the path led to different files while it was judged",
		message: fmt.Sprintf("%s led to %s and then to %s while this call was judged. Nothing was read or written. Check the path before you try again.", files[0].Path, real, files[0].Real),
	}
}

// accounts returns what allows the call: a rule for each file. A call that writes may read
// what any call may read.
func (h *evaluation) accounts(files []touched) *finding {
	var by *finding
	for _, f := range files {
		i := slices.IndexFunc(h.policy.allow, func(r *Rule) bool { return h.coversFile(r, f) })
		free := h.writes && !f.writes && f.Verdict(guard.Read).Decision == guard.Allow
		switch {
		case i >= 0:
			by = cmp.Or(by, byRule(h.policy.allow[i], "a rule allows it"))
		case f.writes && f.Scratch && f.Sensitive.Write == guard.Allow && h.policy.mode != Plan: // as commands may
			by = cmp.Or(by, &finding{reason: "it is the session's own in a temporary directory"})
		case !free:
			return nil
		}
	}
	return by
}

// A touched file is one of a call's.
type touched struct {
	guard.Facts
	writes bool
}

func (h *evaluation) files() []touched {
	var files []touched
	for _, path := range h.subject.Paths.Writes {
		files = append(files, touched{h.policy.guard.Look(path), true})
	}
	for _, path := range h.subject.Paths.Reads {
		files = append(files, touched{h.policy.guard.Look(path), false})
	}
	if files == nil { // a call that names no file is judged like a tool without files
		files = []touched{{h.policy.guard.Look(""), h.subject.kind == editTool}}
	}
	for i := range files {
		files[i].Plan = files[i].Plan && h.call.Call.Agent == "" // it is the main conversation's
	}
	return files
}

// evaluateFile adds what the guard knows about one file.
func (h *evaluation) evaluateFile(f touched) {
	op, sensitive := guard.Read, f.Sensitive.Read
	if f.writes {
		op, sensitive = guard.Write, f.Sensitive.Write
	}
	if f.writes && f.Sensitive.Hard {
		h.hard = f.Path + ": " + f.Sensitive.What
	}
	if f.writes && isLink(f.Facts) {
		h.link = "; it is a link, and its target will be changed: " + f.Real
	}
	view := f.Verdict(op)
	if view.Decision == guard.Deny && h.denied == nil {
		h.denied = &finding{reason: view.Reason, message: "Not possible: " + view.Reason + "."}
	}
	if sensitive != guard.Allow {
		h.protected = cmp.Or(h.protected, view.Reason)
	}
	if view.Decision == guard.Ask {
		h.why = view.Reason
	}
	if sensitive != guard.Allow || view.Decision != guard.Allow {
		h.readOnly, h.edits = false, false
	}
	if f.writes && f.Root == "" && !f.Scratch {
		h.edits = false
	}
}

// coversFile reports whether a rule covers this use of a file. A call that may not read a
// file may not write it either. A rule about paths allows a call only if the call is about
// files and nothing else.
func (h *evaluation) coversFile(r *Rule, f touched) bool {
	switch {
	case r.names(h.subject.name) && (r.spec == "" || r.param != nil && r.param.matches(&h.subject)):
		return true
	case r.Behavior == tool.Allow && !h.call.Tool.OnlyFiles(h.call.Call):
		return false
	case r.path != nil && r.name != editRule && r.name != readRule: // it allows one file tool
		return r.name == h.subject.name && f.writes == (kindOf(r.name) == editTool) && r.coversPath(f.Facts, h.policy)
	case r.name == editRule:
		return f.writes && r.coversPath(f.Facts, h.policy)
	case r.name == readRule:
		return (!f.writes || r.Behavior == tool.Deny) && r.coversPath(f.Facts, h.policy)
	}
	return false
}
