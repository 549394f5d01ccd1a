package permission

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// Rules are suggested only if together they decide the next such call, and if they grant no
// more than a user would expect from the question.

// usable reports whether a text can be saved as an allow rule, and covers what it should.
func (h *evaluation) usable(text string, covers func(*Rule) bool) bool {
	r := &Rule{Text: text, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Local}}
	return r.compile() == nil && covers(r) && (h.policy.mode != Auto || !r.tooBroadForAuto())
}

// parts are the parts of a command that nothing allows.
type parts struct {
	commands []shell.Command
	files    []operand // that output is redirected to
}

func (p parts) none() bool { return len(p.commands)+len(p.files) == 0 }

// String names the parts, because the reason why the first one needs approval does not
// explain the others.
func (p parts) String() string {
	const most = 3
	var names []string
	for _, c := range p.commands {
		names = append(names, abridged(c.Text))
	}
	for _, o := range p.files {
		names = append(names, "> "+abridged(o.Value))
	}
	names = unique(names)
	switch more := len(names) - most; {
	case len(names) == 0:
		return ""
	case len(names) == 1 && len(p.files) > 0:
		return "its output goes to " + abridged(p.files[0].Value)
	case len(names) == 1:
		return "this part is not known to be read-only: " + names[0]
	case more > 0:
		return fmt.Sprintf("these parts are not known to be read-only: %s and %d more", strings.Join(names[:most], "; "), more)
	}
	return "these parts are not known to be read-only: " + strings.Join(names, "; ")
}

func abridged(text string) string {
	const long = 40
	if runes := []rune(text); len(runes) > long {
		return string(runes[:long]) + "…"
	}
	return text
}

// settling returns rules that together account for what is open; none if there is no rule
// for some part of it.
func (h *evaluation) settling(a *shell.Analysis, open parts) []string {
	var rules []string
	for _, c := range open.commands {
		rule := commandRule(a, c)
		if c.Dynamic || !h.usable(rule, func(r *Rule) bool { return r.allowsCommand(c) }) {
			return nil
		}
		rules = append(rules, rule)
	}
	for _, o := range open.files {
		rule := h.pathRule(editRule, o.Facts.Path, false)
		if o.Dynamic || !h.usable(rule, func(r *Rule) bool { return r.coversPath(o.Facts, h.policy) }) {
			return nil
		}
		rules = append(rules, rule)
	}
	return unique(rules)
}

// commandRule is a rule for a command: for the program and its subcommand, if it has one,
// with any arguments; or for exactly this command if a wildcard would allow everything. It
// is "" if even that would, or if a star in the command makes that impossible.
func commandRule(a *shell.Analysis, c shell.Command) string {
	if len(c.Words) == 0 || workFromInput(c) {
		return ""
	}
	program, text := c.Words[0], fullText(c)
	switch {
	case c.ExactOnly || len(c.Assigns) > 0 || len(c.Words) == 1 || runsOthers(program) || removes(program):
	case strings.ContainsAny(program, " *") || reachesOut.has(filepath.Base(program)):
	case runsScripts.has(filepath.Base(program)) && len(c.Words) > 2 && c.Words[1] == "run" && isScriptName(c.Words[2]):
		return "Bash(" + program + " run " + c.Words[2] + ":*)"
	case runsScripts.has(filepath.Base(program)) && c.Words[1] == "run":
	case isSubcommand(c.Words[1]) && !namesFile(a, c, c.Words[1]):
		return "Bash(" + program + " " + c.Words[1] + ":*)"
	case shell.HasSubcommands(filepath.Base(program)):
		return "" // options come before the subcommand, and a prefix cannot leave them open
	default:
		return "Bash(" + program + ":*)"
	}
	if strings.Contains(text, "*") {
		return ""
	}
	return "Bash(" + text + ")"
}

// reachesOut are programs that send and fetch whatever they are told to, so a rule is for
// one call only.
const reachesOut = names("curl wget http https nc ncat socat scp sftp rsync ftp telnet")

// runsScripts are programs whose "run" takes the name of a script in the project.
const runsScripts = names("npm pnpm yarn bun deno")

func isScriptName(word string) bool {
	return word != "" && word[0] != '-' && !strings.ContainsAny(word, " *")
}

// isSubcommand reports whether a word looks like the name of one.
func isSubcommand(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") == "" && word[0] != '-'
}

// namesFile reports whether a word of a command is known to be a file.
func namesFile(a *shell.Analysis, c shell.Command, word string) bool {
	return slices.ContainsFunc(slices.Concat(c.Edits, a.Reads, a.Writes), func(p shell.Path) bool { return p.Value == word })
}

// fileRules are the rules that a user may want to keep for the file of a call: one for its
// folder, or for the file alone if the folder is not below the project or the user's home,
// or contains everything else.
func (h *evaluation) fileRules(f touched) []string {
	name := readRule
	if f.writes {
		name = editRule
	}
	target, below := filepath.Dir(f.Path), true
	if f.Info.Mode.IsDir() {
		target = f.Path
	} else if !h.ownFolder(f.Facts, target) {
		target, below = f.Path, false
	}
	rule := h.pathRule(name, target, below)
	if !h.usable(rule, func(r *Rule) bool { return h.coversFile(r, f) }) {
		return nil
	}
	return []string{rule}
}

// ownFolder reports whether the folder of a file is below the project or the home folder.
func (h *evaluation) ownFolder(f guard.Facts, folder string) bool {
	at := h.policy.at
	own := f.Root != "" || at.home != "" && pathin.Contains(at.home, folder)
	return own && !pathin.Contains(folder, at.project) && (at.home == "" || !pathin.Contains(folder, at.home))
}

// pathRule is a rule for a path, or for everything below it.
func (h *evaluation) pathRule(name, path string, below bool) string {
	if rel, ok := pathin.Below(h.policy.at.project, path); ok {
		path = cmp.Or(rel, ".")
	}
	path = literally.Replace(filepath.ToSlash(path))
	if below {
		path = strings.TrimSuffix(path, "/") + "/**"
	}
	return name + "(/" + strings.TrimPrefix(path, "./") + ")" // from the project, or // from the root
}

// literally takes the meaning from characters that have one in patterns.
var literally = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`, `\`, `\\`)

// unique returns list without what was there before.
func unique(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s string) bool {
		was := seen[s]
		seen[s] = true
		return was
	})
}
