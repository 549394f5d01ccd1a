package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell"
)

// A deny or ask rule is about what a command does, and that does not depend on the position
// of its options: git -C . push is git push, and rm -fr, rm -r -f and rm --recursive
// --force are rm -rf. So such a rule matches a command that has its program, its operands
// in order from the first one, and all of its options in any order and spelling.

// A wordsPattern is a rule of plain words, taken apart.
type wordsPattern struct {
	program  string
	flags    []string // each on its own, by its canonical name
	operands []string
	open     bool // more operands and options may follow
}

// newWordsPattern splits a rule into words. It returns nil if there are stars inside it or
// if it only names a program.
func newWordsPattern(p *textPattern) *wordsPattern {
	if len(p.parts) != 1 {
		return nil
	}
	words := strings.Fields(p.parts[0])
	if len(words) < 2 || strings.Contains(words[0], "=") {
		return nil
	}
	w := &wordsPattern{program: filepath.Base(words[0]), open: p.prefix}
	for _, word := range words[1:] {
		if isFlag(word) {
			w.flags = append(w.flags, flagNames(w.program, word)...)
		} else {
			w.operands = append(w.operands, word)
		}
	}
	return w
}

// matches reports whether a command is what the rule is about.
func (w *wordsPattern) matches(words []string) bool {
	if len(words) == 0 || filepath.Base(words[0]) != w.program {
		return false
	}
	var given []string
	for _, word := range words[1:] {
		if isFlag(word) {
			given = append(given, flagNames(w.program, word)...)
		}
	}
	for _, flag := range w.flags {
		if !slices.ContainsFunc(given, func(name string) bool { return sameFlag(name, flag) }) {
			return false
		}
	}
	if !w.open && len(given) > len(w.flags) && len(w.flags) > 0 {
		return false
	}
	return w.matchOperands(words[1:], w.operands, false)
}

// matchOperands compares operands in order. A word after an option may be its value, so it
// may be skipped; skipped says that the word before was an option.
func (w *wordsPattern) matchOperands(words, want []string, afterFlag bool) bool {
	if len(want) == 0 {
		return w.open || !slices.ContainsFunc(words, func(s string) bool { return !isFlag(s) })
	}
	if len(words) == 0 {
		return false
	}
	word, rest := words[0], words[1:]
	if isFlag(word) {
		return w.matchOperands(rest, want, !strings.Contains(word, "="))
	}
	if word == want[0] && w.matchOperands(rest, want[1:], false) {
		return true
	}
	return afterFlag && w.matchOperands(rest, want, false)
}

// mayMatch reports whether a command is what the rule is about for some values of the words that
// are not known. Only what the rule names besides options counts.
func (w *wordsPattern) mayMatch(c shell.Command) bool {
	if len(w.operands) == 0 || filepath.Base(c.Words[0]) != w.program || !w.open && len(w.flags) > 0 {
		return false
	}
	m := openWords{words: c.Words, open: c.Open, more: c.More}
	at := 1
	if w.program == "git" {
		at = shell.GitCommand(c.Words)
		if at < len(c.Words) && !m.isOpen(at) && !gitCommands.has(c.Words[at]) {
			return true // an alias, or a program of others
		}
	}
	return c.Dynamic && m.mayBegin(at, w.operands, false, false)
}

// gitCommands are what git itself brings. Any other name may be an alias.
const gitCommands = names(`add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry
	cherry-pick clean clone column commit commit-graph commit-tree config count-objects credential credential-cache credential-store describe diagnose diff diff-files diff-index diff-tree
	difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep gui gitk hash-object help hook http-backend
	http-fetch http-push imap-send index-pack init init-db instaweb interpret-trailers lfs log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index
	merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push quiltimport range-diff read-tree rebase
	receive-pack reflog refs remote repack replace replay request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shortlog show show-branch show-index show-ref
	sparse-checkout stage stash status stripspace submodule subtree svn switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info upload-archive upload-pack
	var verify-commit verify-pack verify-tag version whatchanged worktree write-tree`)

func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' && word != "--" }

// flagNames splits a word of options: -rf is -r and -f, --force=x is --force.
func flagNames(program, word string) []string {
	if strings.HasPrefix(word, "--") {
		name, _, _ := strings.Cut(word, "=")
		return []string{canonicalFlag(program, name)}
	}
	if singleDash.has(program) {
		return []string{word}
	}
	var out []string
	for _, c := range word[1:] {
		out = append(out, canonicalFlag(program, "-"+string(c)))
	}
	return out
}

// singleDash are programs whose options have long names after one dash.
const singleDash = names("go find java javac terraform openssl")

// sameFlag compares options; a long one may be cut short.
func sameFlag(given, want string) bool {
	return given == want || strings.HasPrefix(given, "--") && len(given) > 4 && strings.HasPrefix(want, given)
}

// spelledAlike are options with a short and a long name, for all programs and for those
// that differ.
var spelledAlike = map[string]map[string]string{
	"": {
		"--recursive": "-r", "-R": "-r", "--force": "-f", "--verbose": "-v", "--all": "-a", "--quiet": "-q", "--global": "-g", "--delete": "-d", "--message": "-m", "--output": "-o",
		"--namespace": "-n", "--yes": "-y", "--interactive": "-i", "--archive": "-a",
	},
	"curl": {"--request": "-X", "--data": "-d", "--upload-file": "-T", "--form": "-F", "--header": "-H", "--output": "-o", "--remote-name": "-O", "--location": "-L", "--insecure": "-k"},
	"git":  {"--force": "-f", "--delete": "-d", "--message": "-m", "--all": "--all", "--amend": "--amend"},
	"wget": {"--recursive": "-r", "--output-document": "-O"},
}

func canonicalFlag(program, name string) string {
	if own, ok := spelledAlike[program]; ok {
		if short := own[name]; short != "" {
			return short
		}
		return name
	}
	// An abbreviation means the long name if there is only one.
	if strings.HasPrefix(name, "--") && len(name) > 4 && spelledAlike[""][name] == "" {
		for long, short := range spelledAlike[""] {
			if strings.HasPrefix(long, name) {
				return short
			}
		}
	}
	if short := spelledAlike[""][name]; short != "" {
		return short
	}
	return name
}
