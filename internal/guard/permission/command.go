package permission

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// Analyze says what a command would do in a directory.
func (p *Policy) Analyze(command, dir string) *shell.Analysis {
	if p.analyzed != nil {
		p.analyzed(command)
	}
	return shell.Analyze(command, p.in(dir).commandOptions())
}

// analysisOf returns what the command of a call would do: what is known of the call, if that
// is about the policy's directory.
func (p *Policy) analysisOf(f *tool.Facts) *shell.Analysis {
	if known, ok := f.Analysis.(shell.Analyzed); ok {
		if a := known.Analysis(p.at.cwd); a != nil {
			return a
		}
	}
	return p.Analyze(f.Command, "")
}

// Harden returns the environment in which a command that was shown to change nothing indeed
// changes nothing in a directory, if it inherits environ; see [shell.Hardening].
func (p *Policy) Harden(dir string, environ []string) []string {
	where := p.in(dir).commandOptions()
	where.Environ = environ
	if where.FS != nil {
		where.FS = shell.Snapshot(where.FS)
	}
	env, _ := shell.Hardening(where)
	return env
}

// commandOptions says where a command runs.
func (p *Policy) commandOptions() *shell.Options {
	return &shell.Options{Cwd: p.at.cwd, Home: p.at.home, Roots: p.guard.Roots(), Kept: p.guard.Kept, FS: p.commands}
}

// evaluateCommand evaluates a shell command: what it would run, read and write.
func (h *evaluation) evaluateCommand() {
	p := h.policy
	where := p.commandOptions()
	if where.FS != nil {
		where.FS = shell.Snapshot(where.FS)
	}
	a := p.analysisOf(&h.subject.Facts)
	h.evaluateConfinement(a)
	h.writes = !a.ReadOnly
	if h.critical = a.Critical; a.Uncommitted && h.nothingUncommitted() {
		h.critical = ""
	}
	reads, writes := h.look(a.Reads), h.look(a.Writes)
	if h.writes {
		h.changedBy = changingPart(a, writes)
		h.changes = h.changedBy != ""
	}
	mentioned := h.mentioned(a)
	h.match(func(r *Rule) bool {
		return coversCommand(r, a, h.subject.Command) || h.coversOperand(r, reads, writes) || r.name == readRule && h.coversOperand(r, mentioned, nil) || r.names("Bash") && r.param != nil && r.param.matches(&h.subject)
	})
	h.evaluateUnseen(a)
	h.nameExpanded(slices.Concat(reads, mentioned), writes)
	if changesOwnRules(a) && h.denied == nil {
		h.denied = &finding{reason: "haft's own rules and trust can only be changed by the user", message: "Ask the user to run this command outside the session."}
	}
	h.evaluateOperands(a, reads, writes)
	h.evaluateMoved(a)
	for _, dir := range a.GitDirs {
		h.protect("git would use the settings of a bare repository in the project: "+dir, filepath.IsAbs(dir) && h.policy.guard.InBareRepository(dir))
	}
	h.evaluateMentioned(mentioned, reads)
	h.evaluateSearch(a, reads)
	h.evaluateTrees(a)
	if a.ReadOnly && a.UsesGit {
		h.evaluateRepository(where) // before the next, whose reason says less
	}
	h.evaluateShownByGit(a, where)
	h.readOnly = a.ReadOnly && h.protected == "" && !h.unsandboxed
	switch {
	case !h.readOnly:
		h.evaluateAllowed(a, writes)
	case a.Run != h.subject.Command:
		h.input = h.call.Tool.WithCommand(h.call.Call, a.Run)
	}
}

// evaluateMentioned denies what no program may be given, in any mode, and asks about what a
// rule guards.
func (h *evaluation) evaluateMentioned(files, reads []operand) {
	for _, o := range files {
		onlyRead := slices.ContainsFunc(reads, func(r operand) bool { return r.Facts.Path == o.Facts.Path })
		if o.Sensitive.Read == guard.Deny && h.denied == nil {
			h.denied = &finding{reason: o.Facts.Path + ": " + o.Sensitive.What}
		}
		if o.Sensitive.Hard && !onlyRead {
			h.hard = o.Facts.Path + ": " + o.Sensitive.What
		}
	}
}

// changesOwnRules reports whether a command would have haft loosen its own rules.
func changesOwnRules(a *shell.Analysis) bool {
	return slices.ContainsFunc(a.Deny, func(c shell.Command) bool {
		if len(c.Words) < 2 || filepath.Base(c.Words[0]) != "haft" {
			return false
		}
		rest := slices.DeleteFunc(slices.Clone(c.Words[1:]), isFlag)
		i := slices.IndexFunc(rest, func(s string) bool { return ownCommands.has(s) })
		return i >= 0 && (rest[i] == "trust" || i+1 < len(rest) && rest[i+1] != "list" && rest[i+1] != "check" && rest[i+1] != "test" && rest[i+1] != "explain")
	})
}

// ownCommands of haft change what it may do; only a user uses them.
const ownCommands = names("trust permissions")

// changingPart returns the part of a command that is known to change files; "" if none is.
// For most commands that are not read-only, this is not known.
func changingPart(a *shell.Analysis, writes []operand) string {
	for _, c := range a.Allow {
		if c.Edit {
			return abridged(c.Text)
		}
	}
	for _, o := range writes {
		if !isNull(o) {
			return "it writes " + abridged(cmp.Or(o.Pattern, o.Value, "a file"))
		}
	}
	if a.Critical != "" {
		return "it may destroy " + a.Critical
	}
	return ""
}

// An operand is a path that a command names, with what is known about it.
type operand struct {
	shell.Path
	guard.Facts
}

func (h *evaluation) look(paths []shell.Path) []operand {
	operands := make([]operand, len(paths))
	for i, path := range paths {
		dir := cmp.Or(path.Cwd, h.policy.at.cwd)
		operands[i] = operand{path, h.policy.guard.At(dir).Look(ownFolder(path.Value, dir))}
	}
	return operands
}

// ownFolder returns a path without the links by which a process of its own names its working
// directory and its root: haft's lead elsewhere, or nowhere.
func ownFolder(path, dir string) string {
	for _, self := range []string{"/proc/self", "/proc/thread-self"} {
		if rest, ok := strings.CutPrefix(path, self+"/cwd"); ok && strings.HasPrefix(rest, "/") {
			return filepath.Join(dir, rest)
		}
		if rest, ok := strings.CutPrefix(path, self+"/root"); ok && strings.HasPrefix(rest, "/") {
			return ownFolder(rest, dir)
		}
	}
	return path
}

// coversCommand reports whether a rule that denies or asks covers any command, in any form
// that the analysis found. A rule with an operator or an expansion is also about the text as
// it is written.
func coversCommand(r *Rule, a *shell.Analysis, text string) bool {
	if !r.names("Bash") {
		return false
	}
	if r.command == nil {
		return r.spec == ""
	}
	if strings.ContainsAny(r.command.source, "|&;<>$`") && r.command.matches(oneBlank(text)) {
		return true
	}
	return slices.ContainsFunc(a.Deny, func(c shell.Command) bool { return !c.Maybe && r.coversForm(c) })
}

// evaluateUnseen asks about a command if a rule about commands denies or asks, and haft cannot
// tell whether the rule covers what would run.
func (h *evaluation) evaluateUnseen(a *shell.Analysis) {
	if a.ReadOnly || h.asked != nil {
		return
	}
	for _, r := range slices.Concat(h.policy.deny, h.policy.ask) {
		if !r.names("Bash") || r.command == nil {
			continue
		}
		if why := r.mayCover(a); why != "" {
			h.asked = byRule(r, why+", so haft cannot tell whether a rule covers it")
			return
		}
	}
}

// nameExpanded says which pattern stood for the file that a rule is about.
func (h *evaluation) nameExpanded(reads, writes []operand) {
	for _, f := range []*finding{h.denied, h.asked} {
		if f == nil || f.rule == nil || f.rule.path == nil {
			continue
		}
		for _, o := range slices.Concat(reads, writes) {
			if o.Pattern != "" && !o.Dynamic && f.rule.coversPath(o.Facts, h.policy) {
				f.reason = fmt.Sprintf("%s matches %s, which the rule covers", o.Pattern, o.Value)
				break
			}
		}
	}
}

// coversOperand reports whether a rule about files covers one that the command names. A
// call that may not read a file may not write it either.
func (h *evaluation) coversOperand(r *Rule, reads, writes []operand) bool {
	if r.path == nil || r.name != readRule && r.name != editRule {
		return false
	}
	operands := writes
	if r.name == readRule {
		operands = append(append([]operand(nil), reads...), writes...)
	}
	for _, o := range operands {
		if !o.Dynamic && r.coversPath(o.Facts, h.policy) {
			return true
		}
	}
	return false
}

// evaluateOperands looks for files that no rule about commands may open or change.
func (h *evaluation) evaluateOperands(a *shell.Analysis, reads, writes []operand) {
	for _, o := range writes {
		if o.Sensitive.Hard {
			h.hard = fmt.Sprintf("%s: %s", o.Facts.Path, o.Sensitive.What)
		}
		if shared(o) {
			h.shared = o.Facts.Verdict(guard.Write).Reason
		}
		switch {
		case isNull(o):
		case o.Dynamic:
			h.protect("it writes to a file that is not known before it runs", a.ReadOnly)
		case o.Sensitive.Write == guard.Deny && h.denied == nil:
			h.denied = &finding{reason: fmt.Sprintf("%s: %s", o.Facts.Path, o.Sensitive.What)}
		case o.Sensitive.What == guard.Dependencies && (!o.Redirect || h.mayRunDirectly()):
			h.packages = fmt.Sprintf("%s: %s", o.Facts.Path, o.Sensitive.What)
		case o.Sensitive.Write != guard.Allow:
			h.protect(fmt.Sprintf("%s: %s", o.Facts.Path, o.Sensitive.What), true)
		}
	}
	for _, o := range reads {
		view := o.Facts.Verdict(guard.Read)
		switch {
		case isNull(o), isSystem(o.Real), o.Public && o.Sensitive.Read != guard.Deny && o.Root != "":
		case o.Dynamic:
			h.protect(fmt.Sprintf("%s may name a file that a rule covers", cmp.Or(strings.TrimSpace(o.Value), "a word")), h.policy.guesses())
		case o.Sensitive.Read == guard.Deny && h.denied == nil:
			h.denied = &finding{reason: fmt.Sprintf("%s: %s", o.Facts.Path, o.Sensitive.What)}
		case o.Sensitive.Read != guard.Allow:
			h.protect(fmt.Sprintf("%s: %s", o.Facts.Path, o.Sensitive.What), true)
		case view.Decision != guard.Allow:
			h.protect(view.Reason, a.ReadOnly && h.textRule() == nil)
		}
	}
}

// evaluateMoved looks for commands that move, remove or link a folder with something in it
// that will run: another folder in its place would hold other programs.
func (h *evaluation) evaluateMoved(a *shell.Analysis) {
	for _, c := range a.Allow {
		name := filepath.Base(c.Words[0])
		if name != "mv" && name != "rm" && name != "ln" {
			continue
		}
		for _, o := range h.look(c.Edits) {
			into := name != "rm" && o.Facts.Kind() == "directory" && o.Value == c.Words[len(c.Words)-1] && !isLink(o.Facts)
			if why := h.policy.guard.Holds(o.Facts); why != "" && !into {
				h.protect(why, true)
			}
		}
	}
}

// isLink reports whether the path itself is a link.
func isLink(f guard.Facts) bool {
	return slices.ContainsFunc(f.Links, func(l guard.Link) bool { return filepath.Base(l.From) == filepath.Base(f.Path) })
}

// evaluateRepository looks for repository settings that make git run a program of the
// repository's choice and that no environment variable can turn off.
func (h *evaluation) evaluateRepository(where *shell.Options) {
	_, found := shell.Hardening(where)
	for _, s := range found {
		h.protect(fmt.Sprintf("git would use %s in %s", cmp.Or(s.Key, "settings that cannot be read"), s.File), !s.Neutral)
	}
}

// protect notes that the call must be asked about, if the condition holds.
func (h *evaluation) protect(why string, condition bool) {
	if condition {
		h.protected = cmp.Or(h.protected, why)
	}
}

// evaluateAllowed looks for what allows every part: a rule, or the mode for edits. The user
// is told about the parts that nothing allows, with rules that would.
func (h *evaluation) evaluateAllowed(a *shell.Analysis, writes []operand) {
	if rule := h.textRule(); rule != nil {
		h.allowed = byRule(rule, "a rule allows it")
		return
	}
	if !a.Exact {
		h.why = cmp.Or(h.why, a.Inexact, a.Reason)
		return
	}
	var by *finding
	var open parts
	accounted := len(a.Allow) > 0 // for what keeps the command from being read-only
	for _, c := range a.Allow {
		switch rule := h.ruleFor(c); {
		case rule != nil:
			by = cmp.Or(by, byRule(rule, "a rule allows it"))
		case h.policy.mode != AcceptEdits || !c.Edit || !h.editable(c.Edits):
			open.commands = append(open.commands, c)
		}
	}
	for _, o := range writes {
		if !o.Redirect || isNull(o) {
			continue
		}
		covered := h.coverWrite(o)
		if covered == nil {
			open.files = append(open.files, o)
		}
		by, accounted = cmp.Or(by, covered), true
	}
	if open.none() && accounted {
		h.allowed = cmp.Or(by, acceptsEdits)
		return
	}
	if len(a.Allow) > 1 || len(open.files) > 0 {
		h.why = cmp.Or(h.why, open.String())
	}
	h.why = cmp.Or(h.why, a.Reason)
	h.suggest = h.settling(a, open)
}

var acceptsEdits = &finding{reason: "the session accepts edits in the project"}

// ruleFor returns the allow rule that covers a command.
func (h *evaluation) ruleFor(c shell.Command) *Rule {
	if c.Dynamic {
		return nil
	}
	for _, r := range h.policy.allow {
		if r.allowsCommand(c) {
			return r
		}
	}
	return nil
}

// textRule returns the allow rule that covers the command whatever it means: one whose text is
// the whole command as it is written, which the user has seen and allowed, or else one that
// covers every command.
func (h *evaluation) textRule() (rule *Rule) {
	text := strings.TrimSpace(h.subject.Command)
	for _, r := range h.policy.allow {
		switch {
		case !r.names("Bash"):
		case r.command != nil && r.command.source == text:
			return r
		case r.within == nil && (r.spec == "" || r.command != nil && strings.Trim(r.command.source, ":*") == ""):
			rule = cmp.Or(rule, r)
		}
	}
	return rule
}

// fullText is what an allow rule must match: it includes assignments that matter.
func fullText(c shell.Command) string {
	if len(c.Assigns) > 0 {
		return c.Prefix + " " + c.Text
	}
	return c.Text
}

// editable reports whether all paths are project files that an edit may change.
func (h *evaluation) editable(paths []shell.Path) bool {
	for _, o := range h.look(paths) {
		if !h.mayEdit(o) {
			return false
		}
	}
	return true
}

func (h *evaluation) mayEdit(o operand) bool {
	return !o.Dynamic && !shared(o) && (o.Root != "" || o.Scratch) && o.Sensitive.Write == guard.Allow && !strings.ContainsAny(o.Value, "*?[")
}

// shared reports whether a file has other names, perhaps outside the project, with which it changes.
func shared(o operand) bool { return o.Exists && o.Info.Mode.IsRegular() && o.Info.Links > 1 }

// coverWrite returns what allows the target of a redirection: the mode, or a rule about
// edits; nil if nothing does.
func (h *evaluation) coverWrite(o operand) *finding {
	if h.policy.mode == AcceptEdits && h.mayEdit(o) {
		return acceptsEdits
	}
	for _, r := range h.policy.allow {
		if r.name == editRule && !o.Dynamic && r.coversPath(o.Facts, h.policy) || r.names("Bash") && r.spec == "" {
			return byRule(r, "a rule allows it") // a rule that allows every command allows what any of them may write
		}
	}
	return nil
}

func isNull(o operand) bool { return o.Value == "/dev/null" }

// systemDirs hold installed programs and their data, which anyone may read.
var systemDirs = []string{"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/opt/"}

func isSystem(path string) bool {
	for _, dir := range systemDirs {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}
