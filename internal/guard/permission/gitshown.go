package permission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/shell/gitshow"
	"github.com/haftdev/haft/internal/shell/grammar"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/secret"
	"github.com/haftdev/haft/internal/world/workspace/guard"
)

// git diff, log -p, show and similar commands print files that they do not name. Which
// files is found out by asking git itself for names only, with the same revisions and
// paths, in an environment where it runs nothing of the repository. If a rule hides one of
// them, it applies; if git cannot list them in time, the user is asked.

const (
	listTime = 2 * time.Second
	listSize = 8 << 20
)

// evaluateShownByGit looks for files that git would print and that are secret or hidden by
// a rule.
func (h *evaluation) evaluateShownByGit(a *shell.Analysis, where *shell.Options) {
	for i, c := range a.Deny {
		if len(c.Words) == 0 || filepath.Base(c.Words[0]) != "git" {
			continue
		}
		if file := h.passwordShown(a, c, where); file != "" {
			h.protect(brief(c.Text)+" prints settings, and "+file+" holds a password", true)
		}
		words := c.Words[1:]
		elsewhere := strings.Contains(h.subject.Command, "GIT_WORK_TREE") || strings.Contains(h.subject.Command, "GIT_DIR")
		if elsewhere {
			words = append([]string{"--work-tree", "elsewhere"}, words...)
		}
		q, shows := gitshow.Of(words, h.policy.inWorkTree)
		if !shows || q.Reverse == nil && !h.policy.inRepository() {
			continue
		}
		if len(q.Sources) > 0 && !c.Dynamic && len(h.before(a.Deny, i)) == 0 && !slices.ContainsFunc(q.Sources, h.policy.mayExist) {
			continue
		}
		shown, err := h.policy.shownByGit(q, where)
		if errors.Is(err, errNothingNamed) && len(h.before(a.Deny, i)) == 0 {
			err = nil // the command will end as git did here
		}
		if c.Dynamic || err == nil && !a.ReadOnly && changesWhatGitShows(h.before(a.Deny, i), c) {
			err = errors.New("the files are only known at run time")
		}
		if err != nil && !elsewhere && !c.Dynamic && q.Reverse == nil && !h.policy.mayShowHidden(c, h.before(a.Deny, i), where) {
			continue
		}
		h.takeShown(c.Text, shown, err, q.Excludable())
	}
}

// mayShowHidden reports whether a git command may print a file that is secret or that a rule
// hides, whatever the commands before it do: whether the repositories that they may be about have
// ever had one, or may get one that git does not track yet.
func (p *Policy) mayShowHidden(c shell.Command, before []shell.Command, where *shell.Options) bool {
	top := p.repositoryOf(p.at.cwd)
	if top == "" {
		return true
	}
	others := []string{"--exclude-standard"}
	for _, b := range append(before[:len(before):len(before)], c) {
		for i, word := range b.Words[min(1, len(b.Words)):] {
			if isFlag(word) {
				if short := word[1:]; strings.HasPrefix(short, "-f") || strings.HasPrefix(short, "-a") || short[:1] != "-" && strings.ContainsAny(short, "fa") {
					others = nil // --force and --all take what git ignores
				}
				if _, value, ok := strings.Cut(word, "="); ok && p.mayExist(value) && !p.inRepositoryAt(value, top) {
					return true
				}
				continue
			}
			if strings.HasPrefix(strings.ToLower(word), "core.worktree=") {
				return true
			}
			known := !b.Dynamic || i+1 < len(b.Open) && !b.Open[i+1]
			if !known && (filepath.Base(b.Words[0]) != "git" || b.Words[i] == "-C") || p.mayExist(word) && !p.inRepositoryAt(word, top) {
				return true
			}
		}
	}
	at := *where
	at.Cwd = top
	git, cancel, err := newLister(&at)
	if err != nil {
		return true
	}
	defer cancel()
	for _, list := range [][]string{
		{"log", "--all", "--reflog", "-c", "--no-renames", "--diff-filter=A", "--name-only", "--format=", "-z"},
		append([]string{"ls-files", "-z", "--cached", "--others"}, others...),
	} {
		out, err := git.run(nil, list...)
		if err != nil {
			return true
		}
		for name := range strings.SplitSeq(string(out), "\x00") {
			if name = strings.TrimSpace(name); name != "" && p.hides(filepath.Join(top, name)) {
				return true
			}
		}
	}
	return false
}

// inRepositoryAt reports whether a word, if it is a path, is in the work tree of a repository and
// in none within it.
func (p *Policy) inRepositoryAt(word, top string) bool {
	if !filepath.IsAbs(word) {
		word = filepath.Join(p.at.cwd, word)
	}
	return p.repositoryOf(filepath.Clean(word)) == top
}

// hides reports whether a file is secret, or a rule hides it.
func (p *Policy) hides(name string) bool {
	named := guard.Facts{Path: name, Real: filepath.Join(p.physical(filepath.Dir(name)), filepath.Base(name))}
	covers := func(r *Rule) bool { return r.name == readRule && r.path != nil && r.coversPath(named, p) }
	return p.guard.Secret(name) != secret.Open || slices.ContainsFunc(p.deny, covers) || slices.ContainsFunc(p.ask, covers)
}

// inWorkTree reports whether a word, if it is a path, is in the work tree that the working
// directory is in.
func (p *Policy) inWorkTree(word string) bool {
	top := p.repositoryOf(p.at.cwd)
	if !filepath.IsAbs(word) {
		word = filepath.Join(p.at.cwd, word)
	}
	return top != "" && pathin.Contains(top, filepath.Clean(word))
}

// mayExist reports whether a word may name something on this machine.
func (p *Policy) mayExist(word string) bool {
	switch {
	case strings.HasPrefix(word, "~"), strings.HasPrefix(word, "file:"):
		return true
	case !filepath.IsAbs(word):
		word = filepath.Join(p.at.cwd, word)
	}
	return slices.ContainsFunc([]string{"", ".git", ".bundle"}, func(ending string) bool { // as git tries them
		_, err := os.Lstat(word + ending)
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// passwordShown returns the file with a password that a git command may print along with
// other settings.
func (h *evaluation) passwordShown(a *shell.Analysis, c shell.Command, where *shell.Options) string {
	operands := slices.DeleteFunc(slices.Clone(c.Words[1:]), isFlag)
	about := slices.IndexFunc(operands, func(w string) bool { return w == "remote" || w == "config" })
	if !a.ReadOnly || about < 0 || slices.ContainsFunc(operands[about:], plainSetting) {
		return ""
	}
	return shell.GitPassword(where)
}

// plainSetting reports whether a word asks for settings that never hold a password.
func plainSetting(w string) bool {
	section, _, named := strings.Cut(strings.ToLower(w), ".")
	return named && (section == "user" || section == "core" || section == "branch" || section == "init" || section == "color" || section == "alias")
}

// before returns the commands that may run before the one of git at i: those in front of it, or
// all, if it may run more than once.
func (h *evaluation) before(all []shell.Command, i int) []shell.Command {
	words, script := all[i].Words, strings.ReplaceAll(h.subject.Command, "&&", ";")
	again := func(text string) bool { return strings.Contains(script, text) }
	if at := shell.GitCommand(words); at == len(words) || strings.Count(script, words[at]) != 1 || slices.ContainsFunc(repeaters, again) {
		return all
	}
	return all[:i]
}

// repeaters occur in a command of which a part may run more than once, or not in its order.
var repeaters = []string{"do", "()", "function", "&", "trap", "|", "eval", "$", "`", "sh ", "xargs", "find"}

// changesWhatGitShows reports whether one of some commands may change the index, the repository
// or the folder that git shows.
func changesWhatGitShows(some []shell.Command, shows shell.Command) bool {
	return slices.ContainsFunc(some, func(c shell.Command) bool {
		if len(c.Words) == 0 || slices.Equal(c.Words, shows.Words) {
			return false
		}
		switch filepath.Base(c.Words[0]) {
		case "cd", "pushd", "popd", "eval", "source", ".":
			return true
		case "git":
			_, shows := gitshow.Of(c.Words[1:], func(string) bool { return true })
			return !shows && !onlyReads(c)
		}
		return false
	})
}

// onlyReads reports whether the grammar of a command shows that it changes nothing.
func onlyReads(c shell.Command) bool {
	_, err := grammar.Builtin().Check(grammar.Literals(c.Words...))
	return err == nil && !c.Dynamic && len(c.Assigns) == 0
}

// takeShown adds the files that a git command would print, and whether a pattern can leave one
// out; with an error, nothing is known about them.
func (h *evaluation) takeShown(command string, shown []string, err error, excludable bool) {
	hiding := func(r *Rule) bool { return r.name == readRule && r.path != nil }
	if err != nil {
		why := fmt.Sprintf("%s may print any tracked file (%v)", brief(command), err)
		h.protect(why, true)
		for _, r := range slices.Concat(h.policy.deny, h.policy.ask) {
			if hiding(r) && h.asked == nil {
				h.asked = byRule(r, why+", and the rule hides some")
			}
		}
		return
	}
	real := map[string]string{} // folders by where links lead
	for _, name := range shown {
		dir := filepath.Dir(name)
		if real[dir] == "" {
			real[dir] = h.policy.physical(dir)
		}
		named := guard.Facts{Path: name, Real: filepath.Join(real[dir], filepath.Base(name))}
		covers := func(r *Rule) bool { return hiding(r) && r.coversPath(named, h.policy) }
		local, relErr := filepath.Rel(h.policy.at.cwd, name)
		if relErr != nil {
			local = name
		}
		why := fmt.Sprintf("%s prints %s", brief(command), local)
		message := why + ", which a rule hides. Leave that file out"
		if excludable {
			message += fmt.Sprintf(": add -- . ':(exclude)%s'", local)
		}
		if j := slices.IndexFunc(h.policy.deny, covers); j >= 0 && h.denied == nil {
			h.denied = &finding{reason: why + ", which the rule covers", message: message, rule: h.policy.deny[j]}
		}
		if j := slices.IndexFunc(h.policy.ask, covers); j >= 0 && h.asked == nil {
			h.asked = byRule(h.policy.ask[j], why+", which the rule covers")
		}
		h.protect(why+", which may contain a secret", h.policy.guard.Secret(name) != secret.Open)
	}
}

// brief is a command as a reason names it.
func brief(command string) string {
	const most = 60
	if runes := []rune(command); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return command
}

// inRepository reports whether the working directory is in a repository of git.
func (p *Policy) inRepository() bool { return p.repositoryOf(p.at.cwd) != "" }

// repositoryOf returns the root folder of the repository that a folder is in; "" if it is in
// none.
func (p *Policy) repositoryOf(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := p.commands.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// heldByGit returns the first of some files and folders that git tracks: a command can have
// git print it, and would commit it as empty where it is hidden.
func (p *Policy) heldByGit(paths []string) (string, error) {
	inside := map[string][]string{}
	for _, path := range paths {
		if top := p.repositoryOf(filepath.Dir(path)); top != "" {
			inside[top] = append(inside[top], path)
		}
	}
	for top, list := range inside {
		where := p.commandOptions()
		where.Cwd = top
		git, cancel, err := newLister(where)
		if err != nil {
			return "", err
		}
		out, err := git.run(nil, append([]string{"--literal-pathspecs", "ls-files", "-z", "--"}, list...)...)
		cancel()
		if err != nil {
			return "", err
		}
		if name, _, found := strings.Cut(string(out), "\x00"); found {
			return filepath.Join(top, name), nil
		}
	}
	return "", nil
}

// shownByGit returns the files that git would print.
func (p *Policy) shownByGit(q gitshow.Query, where *shell.Options) ([]string, error) {
	if q.Unclear {
		return nil, errors.New("haft cannot list them first")
	}
	git, cancel, err := newLister(where)
	if err != nil {
		return nil, err
	}
	defer cancel()
	here := where.Cwd
	out, err := git.run(nil, "rev-parse", "--show-toplevel")
	top := strings.TrimSuffix(string(out), "\n")
	switch {
	case err != nil && q.Reverse == nil:
		return nil, nil // not a repository after all, or one without files: it prints none
	case err != nil:
		top = here // outside of a repository nothing has a revision
	}
	var shown, folders []string
	if err == nil {
		if shown, folders, err = git.resolve(q, top, here); err != nil {
			return nil, err
		}
	}
	if folders = append(folders, top); q.Reverse != nil {
		folders = append(folders, here)
	}
	lists := [][]string{q.List, q.Reverse}
	if q.Refs != "" {
		refs, err := git.run(nil, "show-ref", "--", q.Refs)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(refs)) {
			_, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			lists = append(lists, append(slices.Clone(q.List[:len(q.List)-1]), ref))
		}
	}
	for _, list := range lists {
		if len(list) == 0 {
			continue
		}
		out, err := git.run(nil, list...)
		if err != nil {
			return nil, err
		}
		names, err := q.Names(string(out))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			for _, folder := range folders {
				shown = append(shown, from(folder, name))
			}
		}
	}
	removed, err := p.seenAsRemoved(git, q, top)
	shown = append(shown, removed...)
	slices.Sort(shown)
	return slices.Compact(shown), err
}

// seenAsRemoved returns the files that git prints because it cannot read them in the work tree that it
// compares with a revision: to it, they have been removed.
func (p *Policy) seenAsRemoved(git lister, q gitshow.Query, top string) ([]string, error) {
	held, err := p.Held()
	if err != nil || len(held.Closed) == 0 || len(q.Tree) == 0 {
		return nil, nil // nothing is closed, or the command is asked about
	}
	revisions, paths := 0, q.Paths
	for _, word := range q.Tree {
		if strings.Contains(word, "..") || strings.HasSuffix(word, "^!") || strings.HasSuffix(word, "^@") {
			return nil, nil
		}
		if out, err := git.run(nil, "rev-parse", "--verify", "-q", word+"^{}"); err == nil && len(out) > 0 {
			revisions++
		} else {
			paths = append(paths[:len(paths):len(paths)], word)
		}
	}
	if revisions != 1 {
		return nil, nil
	}
	out, err := git.run(nil, append([]string{"ls-files", "-z", "--full-name", "--"}, paths...)...)
	var removed []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name = filepath.Join(top, name); slices.ContainsFunc(held.Closed, func(closed string) bool { return pathin.Contains(closed, name) }) {
			removed = append(removed, name)
		}
	}
	return removed, err
}

// from is where a path leads that git prints: comparing folders, it prints some as they are given.
func from(folder, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(folder, name)
}

// resolve returns the files that a command names with a revision, and the folders at which names
// in its list may begin besides the top one.
func (l lister) resolve(q gitshow.Query, top, here string) (files, folders []string, err error) {
	asked := q.Lookups()
	if len(asked) == 0 {
		return nil, nil, nil
	}
	if slices.ContainsFunc(asked, func(name string) bool { return strings.Contains(name, "\n") }) {
		return nil, nil, errors.New("a word with a line break may name any file")
	}
	out, err := l.run(strings.NewReader(strings.Join(asked, "\n")+"\n"), "cat-file", "--batch-check="+gitshow.KindFormat)
	if err != nil {
		return nil, nil, err
	}
	files, folders, err = q.Resolve(strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"))
	for _, paths := range [][]string{files, folders} {
		for i, path := range paths {
			if first, _, _ := strings.Cut(path, "/"); first == "." || first == ".." {
				paths[i] = filepath.Join(here, path)
			} else {
				paths[i] = filepath.Join(top, path)
			}
		}
	}
	return files, folders, err
}

// A lister runs git to list names.
type lister struct {
	ctx context.Context
	dir string
	env []string
}

// newLister refuses a repository in which git may run a program. The caller calls cancel.
func newLister(where *shell.Options) (git lister, cancel context.CancelFunc, err error) {
	env, found := shell.Hardening(where)
	if slices.ContainsFunc(found, func(s shell.GitSetting) bool { return !s.Neutral }) {
		return lister{}, nil, errors.New("the repository's settings may make git run a program")
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	return lister{ctx: ctx, dir: where.Cwd, env: env}, cancel, nil
}

// run returns what a git command prints. A command that finds nothing, or finds
// differences, ends with code 1.
func (l lister) run(in io.Reader, args ...string) ([]byte, error) {
	program, err := l.program()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(l.ctx, program, append([]string{"--no-pager"}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = l.dir, in, time.Second
	cmd.Env = []string{"HOME=" + os.Getenv("HOME"), "LC_ALL=C"}
	for _, kv := range l.env {
		if strings.Contains(kv, "=") { // others name what must not be in it, and nothing else is
			cmd.Env = append(cmd.Env, kv)
		}
	}
	var out, complaint limited
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.full:
		return nil, errors.New("there are too many to list")
	case l.ctx.Err() != nil:
		return nil, errors.New("listing them takes too long")
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return out.Bytes(), nil
	case err != nil && namesNothing.Match(complaint.Bytes()):
		return nil, errNothingNamed
	case err != nil:
		return nil, errors.New("git cannot list them")
	}
	return out.Bytes(), nil
}

// errNothingNamed is about a command with a word that is neither a revision nor a path, or
// without a pattern: git prints no file then.
var errNothingNamed = errors.New("git finds nothing of that name")

var namesNothing = regexp.MustCompile(`^fatal: (ambiguous argument '[^\n]*': unknown revision or path not in the working tree|bad revision '[^\n]*'|no pattern given)`)

// program finds git where the judged command would find it, but never in a directory of the
// project.
func (l lister) program() (string, error) {
	for _, kv := range l.env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path, err := exec.LookPath(filepath.Join(dir, "git")); err == nil {
				return path, nil
			}
		}
	}
	return "", errors.New("git was not found")
}

// limited keeps what fits.
type limited struct {
	bytes.Buffer
	full bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.full = l.full || l.Len()+len(p) > listSize; l.full {
		return 0, io.ErrShortWrite
	}
	return l.Buffer.Write(p)
}
