package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// A program that is not known may read or write any file that is named on its command line.
// So every word that can be a file name is treated as one.

// mentioned returns the files that the words of commands name: the word itself, what follows
// = , : or @ in it, what is attached to a short option, and what a pattern stands for. Commands
// that were shown to only read list their files as reads instead.
func (h *evaluation) mentioned(a *shell.Analysis) []operand {
	if a.ReadOnly {
		return nil
	}
	m := mentions{policy: h.policy, seen: map[[2]string]bool{}}
	moved := h.movedTo(a.Deny)
	for _, c := range a.Deny {
		if showsWords.has(filepath.Base(c.Words[0])) {
			continue
		}
		folders := append(moved[:len(moved):len(moved)], h.startedIn(c.Words, moved)...)
		for i, word := range c.Words {
			if i == 0 || usesKey(c.Words, i) {
				continue
			}
			for _, name := range candidates(word) {
				m.add(name, folders)
			}
		}
	}
	if m.left {
		h.protect("it names too many files to check them all", true)
		for _, r := range slices.Concat(h.policy.deny, h.policy.ask) {
			if r.path != nil && h.asked == nil {
				h.asked = byRule(r, "it names too many files to check them all, and the rule is about some")
			}
		}
	}
	return append(m.found, h.look(a.Matched)...)
}

// mentions are the files that words name.
type mentions struct {
	policy *Policy
	seen   map[[2]string]bool
	found  []operand
	left   bool // some were not looked at
}

// maxMentions is how many files are looked at for one command.
const maxMentions = 10_000

// add looks for a name in the working directory, and in the folders in which the program may be
// started instead. There it counts only if it exists: the program may not be started there.
func (m *mentions) add(name string, folders []string) {
	for i, dir := range append([]string{m.policy.at.cwd}, folders...) {
		if i > 0 && (filepath.IsAbs(name) || name[0] == '~') {
			return
		}
		key := [2]string{dir, name}
		if m.seen[key] {
			continue
		}
		if len(m.seen) == maxMentions {
			m.left = true
			return
		}
		m.seen[key] = true
		f := m.policy.guard.At(dir).Look(ownFolder(name, dir))
		if f.Malformed == "" && (f.Exists || i == 0 && strings.ContainsAny(name, "./~")) {
			m.found = append(m.found, operand{Path: shell.Path{Value: name, Cwd: dir}, Facts: f})
		}
	}
}

// maxMoves is how many folders are looked in for one command.
const maxMoves = 16

// movedTo returns the folders that commands change to, each from each of them: which of them
// run, and in which order, is not asked here. If one leads to a folder that is not known, those
// are added that rules are about.
func (h *evaluation) movedTo(commands []shell.Command) (folders []string) {
	lost := false
	for _, c := range commands {
		switch filepath.Base(c.Words[0]) {
		case "cd", "pushd", "chdir":
			operands := slices.DeleteFunc(slices.Clone(c.Words[1:]), isFlag)
			if len(operands) == 0 {
				operands = []string{h.policy.at.home}
			}
			found := h.foldersAt(operands, folders)
			folders, lost = append(folders, found...), lost || len(found) == 0 || c.Dynamic
		case "eval", "source", ".":
			lost = true
		}
	}
	if lost {
		folders = append(folders, h.policy.foldersOfRules()...)
	}
	return bounded(folders)
}

// startedIn returns the folders in which a program may start another one or look for files, as
// options of many say: env -C, make -C, tar --directory, find -execdir.
func (h *evaluation) startedIn(words, moved []string) []string {
	var values []string
	for i, word := range words {
		long, value, attached := strings.Cut(word, "=")
		switch {
		case i > 0 && (word == "-execdir" || word == "-okdir"):
			values = append(values, words[1:i]...)
		case strings.HasPrefix(word, "--") && folderOption.MatchString(long) && attached:
			values = append(values, value)
		case strings.HasPrefix(word, "--") && folderOption.MatchString(word), len(word) == 2 && strings.HasPrefix(word, "-"):
			values = append(values, words[min(i+1, len(words)-1)])
		case len(word) > 2 && word[0] == '-' && word[1] != '-':
			values = append(values, word[2:], words[min(i+1, len(words)-1)]) // -Cdir, or several options in one
		}
	}
	return bounded(h.foldersAt(values, moved))
}

// folderOption is the name of an option that is followed by a folder.
var folderOption = lazyregexp.New(`dir|cwd|root|prefix|work|path|base|folder`)

// foldersAt returns the folders that words name, in the working directory or in others.
func (h *evaluation) foldersAt(words, others []string) (found []string) {
	for _, word := range words {
		for i, dir := range append([]string{h.policy.at.cwd}, others...) {
			if word == "" || i > 0 && filepath.IsAbs(word) {
				break
			}
			if f := h.policy.guard.At(dir).Look(word); f.Malformed == "" && f.Info.Mode.IsDir() && f.Path != h.policy.at.cwd {
				found = append(found, f.Path)
			}
		}
	}
	return bounded(found)
}

// foldersOfRules returns the home directory and the folders that lead to what rules are about.
func (p *Policy) foldersOfRules() (folders []string) {
	if p.at.home != "" {
		folders = append(folders, p.at.home)
	}
	for _, r := range slices.Concat(p.deny, p.ask) {
		if r.path == nil || r.path.floats || r.base(p.at) == "" {
			continue
		}
		for dir := literal(r.path.pattern); dir != "." && dir != "/" && dir != ""; dir = filepath.Dir(dir) {
			folders = append(folders, filepath.Join(r.base(p.at), dir))
		}
	}
	return folders
}

// bounded returns the first folders of a list, each once.
func bounded(folders []string) (out []string) {
	for _, dir := range folders {
		if len(out) < maxMoves && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// showsWords are programs whose words are texts and no files.
const showsWords = names("echo printf true false : test [ [[ expr")

// candidates returns the paths that a word may hold.
func candidates(word string) []string {
	if word == "" || strings.ContainsAny(word, "\n\x00") || len(word) > 4096 {
		return nil
	}
	out := []string{word}
	for _, sep := range []string{"=", ":", "@", ")"} {
		if i := strings.LastIndex(word, sep); i >= 0 && i+1 < len(word) {
			out = append(out, strings.TrimLeft(word[i+1:], "@"))
		}
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		out = append(out, word[2:])
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" || s[0] == '-' })
}

// usesKey reports whether a word is a key or a configuration that its program is told to
// use, and that it does not print.
func usesKey(words []string, i int) bool {
	switch filepath.Base(words[0]) {
	case "ssh", "scp", "sftp":
		return words[i-1] == "-i"
	case "ssh-add":
		return true
	case "kubectl", "helm":
		return words[i-1] == "--kubeconfig" || strings.HasPrefix(words[i], "--kubeconfig=")
	}
	return false
}
