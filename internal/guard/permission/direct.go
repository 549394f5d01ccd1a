package permission

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell"
)

// runsDirectly reports whether a command runs at once because the mode has accepted what it
// can change: a preview is for a decision that is still open.
func (h *evaluation) runsDirectly() bool {
	if !h.mayRunDirectly() {
		return false
	}
	// What a rule about changes covers need not be there yet, so that nothing can hold it. Git makes only what was
	// committed.
	about := func(r *Rule) bool { return r.path != nil && r.name == editRule }
	if slices.ContainsFunc(h.policy.deny, about) && !onlyGit(h.analysis) || slices.ContainsFunc(h.policy.ask, about) {
		return false
	}
	if why := cmp.Or(h.shared, gitLoses(h.analysis, h.nothingUncommitted)); why != "" {
		h.why = why
		return false
	}
	h.direct = true
	h.direct = h.keptFromHidden()
	return h.direct
}

func (h *evaluation) mayRunDirectly() bool {
	box := &h.policy.sandbox
	return h.policy.mode == AcceptEdits && h.subject.kind == commandTool && h.effects == nil && !box.Off && !h.unsandboxed && !h.excluded && box.Direct != nil && box.Direct()
}

// onlyGit reports whether all that a command runs besides what only reads or edits is git at its
// everyday work in the repository. What git would print or copy is judged by itself.
func onlyGit(a *shell.Analysis) bool {
	return a.Exact && a.Unseen == "" && !slices.ContainsFunc(a.Allow, func(c shell.Command) bool {
		if c.Edit {
			return false
		}
		name, args := gitSubcommand(c.Words[1:])
		return c.Words[0] != "git" || c.Dynamic || len(c.Assigns) > 0 || !everydayGit.has(name) || slices.ContainsFunc(args, startsProgram) || shell.GitRuns(c.Words)
	})
}

// everydayGit are the commands of git that start nothing but what the settings of the repository say.
const everydayGit = names("add branch checkout cherry-pick clean commit fetch gc init merge mv notes pull rebase remote reset restore revert rm stash switch tag update-index update-ref worktree")

// startsProgram reports whether an argument of git has it start a program.
func startsProgram(arg string) bool {
	return slices.ContainsFunc([]string{"-x", "--exec", "--upload-pack"}, func(option string) bool { return means(arg, option) })
}

// gitLoses says what a git command of an analysis may lose, or sends away; "" if nothing. Where
// the mode accepts edits, all else that git does is like an edit: the reflog keeps what was. Where
// nothing is uncommitted, nothing uncommitted can be lost.
func gitLoses(a *shell.Analysis, nothingUncommitted func() bool) string {
	for _, c := range a.Deny {
		if len(c.Words) < 2 || filepath.Base(c.Words[0]) != "git" {
			continue
		}
		name, args := gitSubcommand(c.Words[1:])
		i := slices.IndexFunc(gitLosses, func(l gitLoss) bool { return l.name == name && l.covers(args) })
		if i >= 0 && !(gitLosses[i].what == discards && nothingUncommitted()) {
			return "git " + name + " " + gitLosses[i].what
		}
	}
	return ""
}

// nothingUncommitted reports whether the repository in which a command runs has no uncommitted
// change of a tracked file, and whether the command is about no other one and restores no stash.
func (h *evaluation) nothingUncommitted() bool {
	p, where := h.policy, h.policy.commandOptions()
	top := p.repositoryOf(p.at.cwd)
	if top == "" || strings.Contains(h.subject.Command, "GIT_") {
		return false
	}
	for _, c := range h.analysis.Deny {
		elsewhere := func(word string) bool { return p.mayExist(word) && !p.inRepositoryAt(word, top) }
		if len(c.Words) == 0 || !slices.Contains([]string{"git", "cd", "pushd", "popd"}, filepath.Base(c.Words[0])) {
			continue
		}
		if name, _ := gitSubcommand(c.Words[1:]); c.Dynamic || name == "stash" || slices.ContainsFunc(c.Words[1:], elsewhere) || slices.ContainsFunc(c.Words, func(w string) bool { return strings.HasPrefix(w, "--git-dir") || strings.HasPrefix(w, "--work-tree") }) {
			return false
		}
	}
	git, cancel, err := newLister(where)
	if err != nil {
		return false
	}
	defer cancel()
	out, err := git.run(nil, "status", "--porcelain", "--untracked-files=no")
	return err == nil && len(out) == 0
}

// gitSubcommand finds the subcommand behind git's own options.
func gitSubcommand(words []string) (name string, args []string) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"}, w):
			i++
		case !isFlag(w):
			return w, words[i+1:]
		}
	}
	return "", nil
}

// A gitLoss is a subcommand with what makes it lose something.
type gitLoss struct {
	name  string
	words string // one of these must be there; "" means that none is needed
	less  string // unless one of these is
	what  string
}

const (
	sends     = "sends commits to another repository"
	discards  = "may discard uncommitted work"
	cleans    = "removes files that git does not keep"
	forgets   = "removes what was saved"
	dropsRefs = "moves or removes branches or tags by force"
)

var gitLosses = []gitLoss{
	{"push", "", "-n --dry-run", sends},
	{"send-pack", "", "--dry-run", sends},
	{"reset", "--hard", "", discards},
	{"checkout", "-f --force", "", discards},
	{"switch", "-f --force --discard-changes", "", discards},
	{"clean", "", "-n --dry-run", cleans},
	{"stash", "drop clear", "", forgets},
	{"branch", "-D -M -C -f --force", "", dropsRefs},
	{"tag", "-d --delete -f --force", "", dropsRefs},
	{"update-ref", "", "", dropsRefs},
	{"reflog", "expire delete", "", forgets},
	{"gc", "--prune", "", forgets},
	{"prune", "", "-n --dry-run", forgets},
	{"worktree", "remove prune", "", "removes a work tree"},
	{"filter-branch", "", "", dropsRefs},
	{"filter-repo", "", "", dropsRefs},
}

func (l gitLoss) covers(args []string) bool {
	has := func(list string) bool {
		return slices.ContainsFunc(strings.Fields(list), func(word string) bool {
			return slices.ContainsFunc(args, func(arg string) bool { return means(arg, word) })
		})
	}
	return (l.words == "" || has(l.words)) && !has(l.less)
}

// means reports whether an argument is an option, also among other short ones or with a value.
func means(arg, option string) bool {
	if len(option) == 2 && option[0] == '-' && len(arg) > 1 && arg[0] == '-' && arg[1] != '-' {
		return strings.Contains(arg[1:], option[1:])
	}
	name, _, _ := strings.Cut(arg, "=")
	return name == option
}
