package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell"
)

func (r *Rule) coversForm(c shell.Command) bool {
	return r.command.matches(c.Text) || r.words != nil && r.words.matches(c.Words) || r.unquoted != nil && r.unquoted.matches(unquoted.Replace(c.Text))
}

// mayCover says why a rule may cover what a command runs; "" if it does not.
func (r *Rule) mayCover(a *shell.Analysis) string {
	if a.Unseen != "" {
		return a.Unseen
	}
	for _, c := range a.Deny {
		switch {
		case c.Maybe && r.coversForm(c):
			return "it may run " + brief(c.Text)
		case r.words != nil && !c.Maybe && r.words.mayMatch(c):
			return "a word of " + brief(c.Text) + " may stand for others"
		}
	}
	return ""
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

// openWords are those of a command of which some are not known.
type openWords struct {
	words []string
	open  []bool
	more  bool // others follow
}

func (m openWords) isOpen(i int) bool { return i < len(m.open) && m.open[i] }

// mayBegin reports whether the operands from a word on may begin with others, one of which is not
// known.
func (m openWords) mayBegin(i int, want []string, afterFlag, guessed bool) bool {
	switch {
	case len(want) == 0:
		return guessed
	case i == len(m.words):
		return m.more
	case !m.isOpen(i) && isFlag(m.words[i]):
		return m.mayBegin(i+1, want, !strings.Contains(m.words[i], "="), guessed)
	case m.isOpen(i) && afterFlag && m.operandAfter(i): // the value of that option
		return m.mayBegin(i+1, want, false, guessed)
	case m.isOpen(i):
		return m.mayBegin(i+1, want[1:], false, true)
	case m.words[i] == want[0] && m.mayBegin(i+1, want[1:], false, guessed):
		return true
	}
	return afterFlag && m.mayBegin(i+1, want, false, guessed)
}

func (m openWords) operandAfter(i int) bool {
	return slices.ContainsFunc(m.words[i+1:], func(word string) bool { return !isFlag(word) })
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
