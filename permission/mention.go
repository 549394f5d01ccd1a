package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell"
)

// A program that is not known may read or write any file that is named on its command line.
// So every word that can be a file name is treated as one.

// mentioned returns the files that the words of commands name literally: the word itself,
// what follows = , : or @ in it, and what is attached to a short option. Commands that were
// shown to only read list their files as reads instead.
func (h *evaluation) mentioned(a *shell.Analysis) []operand {
	if a.ReadOnly {
		return nil
	}
	const most = 400
	seen := map[string]bool{}
	var out []operand
	for _, c := range a.Deny {
		for i, word := range c.Words {
			if i == 0 || usesKey(c.Words, i) || showsWords.has(filepath.Base(c.Words[0])) {
				continue
			}
			for _, name := range candidates(word) {
				if seen[name] || len(seen) > most {
					continue
				}
				seen[name] = true
				f := h.policy.guard.Look(name)
				if f.Malformed == "" && (f.Exists || strings.ContainsAny(name, "./~")) {
					out = append(out, operand{Path: shell.Path{Value: name}, Facts: f})
				}
			}
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
