package permission

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// effects are the changes that a command made in a preview, judged file by file as edits
// would be.
type effects struct {
	files []tool.FileChange
	// by is what accounts for files, the first of them.
	by *finding
	// open are the files that nothing accounts for.
	open []tool.Dropped
	// protected says that some of open are so whatever rules allow.
	protected bool
	// rules would account for the rest of open.
	rules []string
}

// evaluateEffects judges the files that a command changed: rules and modes about edits
// apply to them, whichever program changed them.
func (h *evaluation) evaluateEffects() {
	e := &effects{files: h.call.Preview.Files}
	h.effects = e
	h.writes, h.changes = len(e.files) > 0, len(e.files) > 0
	bound := h.boundRules()
	for i := range e.files {
		h.evaluateEffect(&e.files[i], bound)
	}
	e.rules = unique(e.rules)
}

func (h *evaluation) evaluateEffect(f *tool.FileChange, bound []*Rule) {
	e, p := h.effects, h.policy
	facts := p.guard.Look(f.Path)
	var view guard.Verdict
	if !facts.Exists || facts.Info.Mode.IsRegular() { // of folders and links the change is about themselves
		view = facts.Verdict(guard.Write)
	}
	deniedBy := func(r *Rule) bool {
		return r.path != nil && (r.name == editRule || r.name == readRule) && r.coversPath(facts, p)
	}
	if i := slices.IndexFunc(p.deny, deniedBy); i >= 0 && h.denied == nil {
		h.denied = byRule(p.deny[i], "it would change "+f.Path)
		h.denied.message = fmt.Sprintf("The command ran in a preview, and its changes were dropped: it would change %s.", f.Path)
	}
	if facts.Sensitive.Write == guard.Deny && h.denied == nil {
		reason := f.Path + ": " + facts.Sensitive.Written()
		h.denied = &finding{reason: reason, message: fmt.Sprintf("The command ran in a preview, and its changes were dropped: %s.", reason)}
	}
	if i := slices.IndexFunc(p.ask, func(r *Rule) bool { return r.name == editRule && deniedBy(r) }); i >= 0 && h.asked == nil {
		h.asked = byRule(p.ask[i], "a rule requires asking about changes to "+f.Path)
	}
	covers := func(r *Rule) bool { return r.name == editRule && r.coversPath(facts, p) }
	i := slices.IndexFunc(p.allow, covers)
	j := slices.IndexFunc(bound, func(r *Rule) bool { return covers(r.within) })
	records := f.Folded == tool.FoldedGit
	switch {
	case records && movesRefs(f.Path):
		e.protected = true
		e.open = append(e.open, tool.Dropped{Path: f.Path, Why: "what git records in branches, tags and HEAD is for the user to approve"})
	case facts.Sensitive.Write != guard.Allow && !records:
		e.protected = true
		e.open = append(e.open, tool.Dropped{Path: f.Path, Why: "it is protected: " + facts.Sensitive.Written()})
	case leadsOut(f, p.guard):
		e.protected = true
		e.open = append(e.open, tool.Dropped{Path: f.Path, Why: "it is a link that leads out of the project"})
	case i >= 0:
		e.by = cmp.Or(e.by, byRule(p.allow[i], "preview: a rule allows what it changed"))
	case j >= 0:
		e.by = cmp.Or(e.by, byRule(bound[j], "preview: a rule allows what it changed"))
	case p.mode == AcceptEdits && facts.Root != "" && (records || view.Decision == guard.Allow):
		e.by = cmp.Or(e.by, &finding{reason: "preview: the session accepts edits in the project"})
	default:
		e.open = append(e.open, tool.Dropped{Path: f.Path, Why: cmp.Or(view.Reason, "no rule allows this change")})
		if len(e.rules) < maxEffectRules {
			e.rules = append(e.rules, h.effectRule(facts)...)
		}
	}
}

// movesRefs reports whether a file of git's own says where a branch or a tag is, or HEAD. The stash
// is none: it is what was in the work tree.
func movesRefs(path string) bool {
	_, name, _ := strings.Cut(path, "/.git/")
	if rest, ok := strings.CutPrefix(name, "worktrees/"); ok {
		_, name, _ = strings.Cut(rest, "/")
	}
	name = strings.TrimPrefix(name, "logs/")
	return name == "HEAD" || name == "packed-refs" || strings.HasPrefix(name, "refs/") && name != "refs/stash"
}

// maxEffectRules is how many rules are suggested for what a command changed.
const maxEffectRules = 8

// leadsOut reports whether a file becomes a link to a place outside the folders: what is
// written through it later would not be where it seems to be.
func leadsOut(f *tool.FileChange, g *guard.Guard) bool {
	if f.After == nil || f.After.Mode&fs.ModeSymlink == 0 {
		return false
	}
	target := string(f.After.Raw)
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(f.Path), target)
	}
	return !slices.ContainsFunc(g.Roots(), func(root string) bool { return pathin.Contains(root, target) })
}

// boundRules are the rules with a condition that, together with those without, allow every
// part of the command.
func (h *evaluation) boundRules() []*Rule {
	if h.analysis == nil || !h.analysis.Exact {
		return nil
	}
	var bound []*Rule
	for _, c := range h.analysis.Allow {
		if h.ruleFor(c) != nil {
			continue
		}
		i := slices.IndexFunc(h.policy.bound, func(r *Rule) bool { return !c.Dynamic && r.allowsCommand(c) })
		if i < 0 {
			return nil
		}
		bound = append(bound, h.policy.bound[i])
	}
	return bound
}

// effectRule is a rule about edits that would account for a file.
func (h *evaluation) effectRule(f guard.Facts) []string {
	target, below := filepath.Dir(f.Path), true
	if !h.ownFolder(f, target) {
		target, below = f.Path, false
	}
	rule := h.pathRule(editRule, target, below)
	if !h.usable(rule, func(r *Rule) bool { return r.coversPath(f, h.policy) }) {
		return nil
	}
	return []string{rule}
}

// decideEffects weighs what the command changed, once nothing else has decided.
func (h *evaluation) decideEffects() Decision {
	e := h.effects
	switch {
	case len(e.files) == 0:
		return h.end(tool.Allow, &finding{reason: "preview: changed nothing"})
	case len(e.open) == 0:
		return h.end(tool.Allow, e.by)
	}
	commands := h.suggest
	h.suggest = h.boundSuggestions()
	h.settles = !e.protected
	if box := &h.policy.sandbox; box.DropRest != nil && box.DropRest() {
		if h.suggest = e.rules; e.protected { // no rule about edits allows it, but one about the command lets it run as it is
			h.suggest, h.settles = commands, true
		}
		d := h.end(tool.Allow, &finding{})
		d.Dropped = e.dropped()
		d.Reason = fmt.Sprintf("preview: the changes to %d of %d files were dropped", len(d.Dropped), len(e.files))
		return d
	}
	first := e.open[0]
	reason := fmt.Sprintf("it changed %s: %s", first.Path, first.Why)
	if more := len(e.open) - 1; more > 0 {
		reason += fmt.Sprintf(" (and %d more)", more)
	}
	return h.open(&finding{reason: reason})
}

// dropped are all the files, if nothing accounts for some of them: a part of a change may mean
// nothing without the rest.
func (e *effects) dropped() []tool.Dropped {
	open := map[string]string{}
	for _, d := range e.open {
		open[d.Path] = d.Why
	}
	list := slices.Clone(e.open) // first, as they are why
	for _, f := range e.files {
		if _, is := open[f.Path]; !is {
			list = append(list, tool.Dropped{Path: f.Path, Why: "a change is applied whole or not at all"})
		}
	}
	return list
}

// boundSuggestions are rules for the command, with the folder that it changed as their
// condition, if there is one.
func (h *evaluation) boundSuggestions() []string {
	common := ""
	for i, f := range h.effects.files {
		dir := filepath.Dir(f.Path)
		if i == 0 {
			common = dir
		}
		for !pathin.Contains(common, dir) {
			common = filepath.Dir(common)
		}
	}
	rel, inside := pathin.Below(h.policy.at.project, common)
	if !inside || rel == "" || rel == "." || len(h.suggest) == 0 {
		return h.suggest
	}
	var rules []string
	for _, rule := range h.suggest {
		text := rule + condition + strings.TrimPrefix(h.pathRule(editRule, common, true), editRule+"(")
		if (&Rule{Text: text, Behavior: tool.Allow}).compile() != nil {
			return h.suggest
		}
		rules = append(rules, text)
	}
	return rules
}
