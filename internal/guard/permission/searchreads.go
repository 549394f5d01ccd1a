package permission

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell"
)

// evaluateSearch looks for commands that read everything below a folder. The operands do
// not show whether a file there is covered by a rule, so such a command is asked about if a
// rule may hide something.
func (h *evaluation) evaluateSearch(a *shell.Analysis, reads []operand) {
	var folders []string
	links := false
	for _, c := range a.Deny {
		outside := len(c.Words) > 0 && filepath.Base(c.Words[0]) == "git" && slices.Contains(c.Words, "grep") && !h.policy.inRepository() // there a setting makes it search the folder
		switch {
		case searches(c.Words) || outside:
			links = links || slices.ContainsFunc(c.Words, followsLinks)
			folders = append(folders, searched(reads, nil)...)
			if len(folders) == 0 {
				folders = []string{h.policy.at.cwd, h.policy.real.cwd}
			}
		case opensFolders(c.Words):
			links = true
			folders = append(folders, searched(reads, c.Words)...)
		}
	}
	for _, dir := range folders {
		file, r, err := h.policy.coveredIn(dir, links, readRule)
		switch {
		case err != nil:
			h.protect("it searches a folder that may contain files covered by the rule "+r.Text+" (the Grep tool would skip them)", true)
		case r != nil:
			h.protect(fmt.Sprintf("it searches a folder that contains %s, which the rule %s covers (the Grep tool would skip it)", file, r.Text), true)
		}
	}
}

// followsLinks reports whether a word may be an option of a search that follows links.
func followsLinks(word string) bool {
	if strings.HasPrefix(word, "--") {
		return strings.HasPrefix(word, "--deref") || strings.HasPrefix(word, "--follow")
	}
	return strings.HasPrefix(word, "-") && strings.ContainsAny(word, "RLSf")
}

// searched returns the folders that are read, of all commands or of the one with these words.
func searched(reads []operand, words []string) (folders []string) {
	for _, o := range reads {
		names := func(word string) bool { return strings.HasSuffix(word, o.Value) || word == o.Pattern }
		if o.Info.Mode.IsDir() && (words == nil || o.Pattern != "" || slices.ContainsFunc(words, names)) {
			folders = append(folders, o.Facts.Path, o.Real)
		}
	}
	return folders
}

// searches reports whether a command shows the content of files that it finds itself.
func searches(words []string) bool {
	if len(words) == 0 {
		return false
	}
	args := words[1:]
	switch filepath.Base(words[0]) {
	case "rg", "ag", "ack", "ugrep", "rgrep", "zgrep":
		return true
	case "grep", "egrep", "fgrep":
		return slices.ContainsFunc(args, recursive)
	case "git":
		return slices.Contains(args, "grep") && (slices.Contains(args, "--no-index") || slices.Contains(args, "--untracked"))
	}
	return false
}

// opensFolders reports whether a command shows the files of a folder if it is given one.
func opensFolders(words []string) bool {
	if len(words) == 0 {
		return false
	}
	switch filepath.Base(words[0]) {
	case "diff", "colordiff", "sdiff", "zdiff", "bzdiff", "xzdiff", "zstddiff", "vimdiff", "icdiff", "delta", "difft":
		return true
	case "gofmt":
		return !slices.Contains(words, "-l") || slices.Contains(words, "-d")
	}
	return false
}

// recursive reports whether an argument is an option that makes grep go into folders.
func recursive(arg string) bool {
	if strings.HasPrefix(arg, "--") {
		return strings.HasPrefix("--recursive", arg) && len(arg) > 4 || strings.HasPrefix(arg, "--dereference-recursive") || strings.HasPrefix(arg, "--directories")
	}
	return strings.HasPrefix(arg, "-") && strings.ContainsAny(arg, "rRd")
}

// literal is the beginning of a pattern that matches only itself, in whole names.
func literal(pattern string) string {
	var fixed []string
	for name := range strings.SplitSeq(pattern, "/") {
		if strings.ContainsAny(name, `*?[{\`) {
			break
		}
		fixed = append(fixed, name)
	}
	return strings.Join(fixed, "/")
}
