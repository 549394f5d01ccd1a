// Package gitshow says how to learn which files a git command would print.
//
// git diff, log -p, show, grep and others print files that they do not name. For
// such a command [Of] returns another one with the same choice of revisions and
// paths that lists names only. It reads words and runs nothing, and is safe for
// concurrent use.
package gitshow

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// A Query is a command of git, without the word git, that lists the files which
// another one would print.
type Query struct {
	List []string // its output is for Names
	// changes: List prints what happened to each file as well, as --name-status does.
	changes bool
	// trees: the revisions that a name may begin with, and a colon.
	trees []string
	// lookups are about the revisions that are given.
	lookups []lookup
	// listsFolders: of a folder it prints only the names.
	listsFolders bool
	// Reverse, if set, is List with the sides exchanged: of a file that two folders have, each
	// of them names one.
	Reverse []string
	// Unclear: the files cannot be listed.
	Unclear bool
	// Tree, if set, compares the work tree with a revision, if there is only one among these words: what cannot be read in
	// it is printed as removed. Paths are those after "--".
	Tree, Paths []string
	// Refs, if set, is how a branch ends that may be what List is about instead of its last word.
	Refs string
	// Sources, if set, are the words that may name what is copied: if there is none of them, nothing is.
	Sources []string
}

// Of returns how to list what a git command prints, given its words after git. It
// reports false for one that prints or copies the content of no file, or only of files that it
// names. Inside reports whether a path is in the work tree: git compares others as diff does.
func Of(args []string, inside func(path string) bool) (Query, bool) {
	n, plain := globals(args)
	if n == len(args) {
		return Query{}, false
	}
	sub, rest := args[n], args[n+1:]
	if sub == "stash" || sub == "reflog" {
		if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			sub, rest = sub+" "+rest[0], rest[1:]
		}
	}
	q, shows := of(sub, rest)
	if !shows {
		q, shows = copies(sub, rest, plain)
	}
	if sub == "init" && has(args[:n], "", "--work-tree") {
		shows = true // it records where the next checkout writes all files
	}
	if sub == "diff" && (slices.Contains(rest, "--no-index") || slices.ContainsFunc(rest, func(w string) bool { return w != "" && w[0] != '-' && !inside(w) })) {
		q.Reverse = list(sub, slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return w == "-R" }), "-R").List
	}
	if shows && (!plain || slices.ContainsFunc(rest, hides)) {
		return Query{Unclear: true}, true
	}
	q.lookups = lookupsOf(operands(rest))
	if (sub == "diff" || sub == "diff-index") && !namesOnly(rest, "--cached", "--staged", "--no-index") {
		q.Tree = operands(rest)
		if end := slices.Index(rest, "--"); end >= 0 {
			q.Paths = rest[end+1:]
		}
	}
	return q, shows
}

// copies returns how to list what a command of git writes under another name than the one in the
// repository, where anyone may read it.
func copies(sub string, args []string, plain bool) (Query, bool) {
	switch sub {
	case "worktree":
		return workTree(args), slices.Contains(args, "add")
	case "checkout-index":
		return Query{List: []string{"ls-files", "-z", "--full-name"}}, !plain || has(args, "", "--prefix", "--temp")
	case "checkout", "restore", "reset", "stash":
		return Query{Unclear: true}, !plain || slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, ":") && !strings.HasPrefix(w, ":") })
	case "read-tree", "unpack-file":
		return Query{Unclear: true}, !plain || sub == "unpack-file" || has(args, "", "--prefix") || slices.ContainsFunc(args, named)
	case "update-index":
		return Query{Unclear: true}, has(args, "", "--cacheinfo", "--index-info")
	case "clone":
		var from []string
		valued := false // a flag may take the next word
		for _, w := range args {
			switch {
			case !strings.HasPrefix(w, "-"):
				from = append(from, w)
			case !strings.HasPrefix(w, "--") || !strings.Contains(w, "="):
				valued = valued || !slices.Contains([]string{"-q", "--quiet", "-v", "--bare", "--mirror", "-n", "--no-checkout", "--recursive", "--single-branch", "--"}, w)
			}
		}
		q := Query{Unclear: true, Sources: from}
		if len(from) > 1 && !valued {
			from = from[:1] // the last says where to
		}
		return q, slices.ContainsFunc(from, func(w string) bool { return local(w) || !strings.Contains(w, ":") })
	case "config": // the next checkout may write all files elsewhere
		return Query{Unclear: true}, slices.ContainsFunc(args, func(w string) bool {
			w = strings.ToLower(w)
			return strings.HasPrefix(w, "core.worktree") || strings.HasPrefix(w, "include")
		}) && !namesOnly(args, "--get", "get", "--unset", "unset")
	case "fsck":
		return Query{Unclear: true}, has(args, "", "--lost-found")
	case "pull", "fetch", "submodule", "subtree":
		return Query{Unclear: true}, slices.ContainsFunc(args, local)
	}
	return Query{}, false
}

// workTree returns how to list what a work tree that is added gets.
func workTree(args []string) Query {
	var words []string // the path, and a revision
	fresh := false     // no branch is taken by its name alone
	for i := 1; i < len(args); i++ {
		switch w := args[i]; {
		case w == "-b" || w == "-B":
			fresh = true
			i++
		case w == "-d" || w == "--detach":
			fresh = true
		case slices.Contains([]string{"-f", "--force", "-q", "--quiet", "--lock", "--checkout", "--no-checkout", "--track", "--no-track", "--no-guess-remote"}, w):
		case strings.HasPrefix(w, "-"):
			return Query{Unclear: true} // a value may follow, or it is the branch before this one
		default:
			words = append(words, w)
		}
	}
	if len(words) == 0 || len(words) > 2 || args[0] != "add" {
		return Query{Unclear: true}
	}
	tree, refs := "HEAD", path.Base(filepath.ToSlash(words[0])) // without a revision, the path may name a branch
	if len(words) == 2 {
		tree, refs = words[1], words[1]
	} else if strings.Contains(refs, "@{") {
		return Query{Unclear: true}
	}
	if fresh {
		refs = ""
	}
	return Query{List: listTree(tree), Refs: refs}
}

// archived returns how to list what an archive gets.
func archived(args []string) Query {
	var words []string // a revision, and paths
	whole := false     // the paths are not looked at
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w == "-o":
			i++
		case w == "--" && len(words) > 0, strings.HasPrefix(w, "--format="), strings.HasPrefix(w, "--prefix="):
			whole = true
		case strings.HasPrefix(w, "-"):
			return Query{Unclear: true} // a value may follow, or it adds a file
		default:
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return Query{Unclear: true}
	}
	if whole || len(words) == 1 || slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, `*?[\:`) || strings.HasPrefix(w, ".") }) {
		return Query{List: listTree(words[0])}
	}
	return Query{List: slices.Concat([]string{"ls-tree", "-r", "-z", "--name-only", "--full-name", words[0], "--"}, words[1:])}
}

// listTree lists the files of a revision.
func listTree(revision string) []string {
	return []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", revision}
}

// local reports whether a word may be the path of a repository on this machine.
func local(word string) bool {
	return word != "" && strings.ContainsRune("./~", rune(word[0])) || strings.HasPrefix(word, "file:")
}

// hides reports whether a flag changes the list in a way that is not followed.
func hides(word string) bool {
	return strings.HasPrefix(word, "--line-prefix") || strings.HasPrefix(word, "--output") || word == "--stdin" || strings.HasPrefix(word, "--pathspec-from-file")
}

// globals returns how many words stand before the subcommand, and whether they leave
// the repository as it is.
func globals(args []string) (n int, plain bool) {
	plain = true
	for n < len(args) && strings.HasPrefix(args[n], "-") {
		switch {
		case args[n] == "-C" && n+1 < len(args):
			plain = plain && (args[n+1] == "." || args[n+1] == "./")
			n++
		case args[n] == "-c" || args[n] == "--git-dir" || args[n] == "--work-tree" || args[n] == "--namespace" || args[n] == "--super-prefix" || args[n] == "--config-env":
			plain = false
			n++
		case slices.Contains([]string{"--no-pager", "--no-optional-locks", "--no-replace-objects", "--no-lazy-fetch", "--no-advice", "-P"}, args[n]):
		default:
			plain = false
		}
		n++
	}
	return min(n, len(args)), plain
}

func of(sub string, args []string) (Query, bool) {
	switch sub {
	case "diff":
		return list("diff", args), patch(args, true)
	case "diff-index", "diff-files":
		return list(sub, args, "-r"), patch(args, false)
	case "diff-tree":
		return list(sub, args, "-r", "--no-commit-id"), patch(args, false)
	case "show":
		q := Query{}
		unnamed := slices.DeleteFunc(slices.Clone(args), named)
		if patch(args, true) && (len(operands(args)) == 0 || len(operands(unnamed)) > 0) {
			q = list(sub, unnamed, "--format=")
		}
		q.listsFolders = true
		return q, len(q.List)+len(operands(args)) > 0
	case "log", "whatchanged", "reflog", "reflog show", "stash list":
		if slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "-L") }) {
			return Query{}, true // it names its file
		}
		return list(sub, args, "--format="), patch(args, sub == "whatchanged")
	case "blame", "annotate":
		return Query{}, true
	case "stash show": // a setting makes it show changes
		return list(sub, args), patch(args, true)
	case "status":
		if verbose(args) == 1 {
			return list("diff", []string{"--cached"}), true
		}
		return list("diff", []string{"HEAD"}), verbose(args) > 1
	case "grep":
		if slices.ContainsFunc(args, func(w string) bool { return w == "--no-index" || w == "--untracked" }) {
			return Query{}, false // that is a search of the folder
		}
		if slices.ContainsFunc(args, opensFiles) {
			return Query{Unclear: true}, true
		}
		return Query{List: slices.Concat([]string{"grep", "-l", "-z", "--full-name"}, args), trees: operands(args)}, !namesOnly(args, "-l", "-L", "-c", "-q", "--count", "--name-only", "--files-with-matches", "--files-without-match", "--quiet")
	case "archive":
		return archived(args), true
	case "notes":
		return Query{Unclear: true}, slices.ContainsFunc(args, func(w string) bool {
			return w == "show" || strings.HasPrefix(w, "-C") || strings.HasPrefix(w, "-c") || strings.HasPrefix(w, "--re")
		})
	case "for-each-ref", "tag", "branch":
		return Query{Unclear: true}, slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, "%(raw") })
	case "cat-file":
		return Query{listsFolders: true, Unclear: slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "--batch") })}, !namesOnly(args, "-t", "-s", "-e")
	case "add", "stage", "checkout", "restore", "reset", "stash push", "stash save", "stash":
		q := list("diff", []string{"HEAD"})
		source := slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "-s") || strings.HasPrefix(w, "--so") })
		if strings.HasPrefix(sub, "stash") || sub != "add" && sub != "stage" && (source || len(operands(args)) > 0) {
			q = Query{Unclear: true} // it compares with another revision, or with the work tree as the command sees it
		}
		valued := "bBF"
		if strings.HasPrefix(sub, "stash") {
			valued += "m"
		}
		return q, has(args, valued, "-p", "--patch", "-i", "--interactive", "-e", "--edit")
	case "commit":
		return list("diff", []string{"HEAD"}), verbose(args) > 0 || has(args, "mFCct", "-p", "--patch", "--interactive")
	case "rebase", "am":
		return Query{Unclear: true}, has(args, "", "--show-current-patch")
	case "rerere":
		return Query{Unclear: true}, slices.Contains(args, "diff")
	case "range-diff", "format-patch", "bundle", "fast-export", "difftool", "request-pull", "send-email", "merge-tree", "upload-archive", "archimport", "imap-send", "cvsexportcommit", "fast-import", "upload-pack", "pack-objects", "http-backend", "daemon", "svn", "p4":
		return Query{Unclear: true}, true
	}
	return Query{}, false
}

// opensFiles reports whether a flag of git grep has it start a program for what it finds, which a list would start, too.
func opensFiles(w string) bool {
	if long, _, _ := strings.Cut(w, "="); strings.HasPrefix(long, "--op") {
		return strings.HasPrefix("--open-files-in-pager", long)
	}
	if len(w) < 2 || w[0] != '-' || w[1] == '-' {
		return false
	}
	flags := w[1:]
	if i := strings.IndexAny(flags, "efABCm"); i >= 0 { // the rest is a value
		flags = flags[:i]
	}
	return strings.Contains(flags, "O")
}

// overridden are flags about how changes are shown that would keep names from being
// listed one by one, and those of which the beginning is enough.
var (
	overridden = strings.Fields("--name-status --name-only --check -s --no-patch --quiet -q --graph --oneline -p -u --patch --exit-code -v -a --text -W --function-context --shortstat --numstat --summary --raw --compact-summary --patch-with-stat --patch-with-raw --cumulative -z")
	beginnings = strings.Fields("--format --pretty --color --relative --no-relative --stat --dirstat --word-diff --abbrev -U --unified --notes --show-notes --decorate")
)

// list returns the query with a command that lists the names of what sub would print.
func list(sub string, args []string, more ...string) Query {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	kept := slices.DeleteFunc(slices.Clone(args[:end]), func(w string) bool {
		return slices.Contains(overridden, w) || slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(w, b) })
	})
	flags := append([]string{"--name-status", "-z", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative"}, more...)
	return Query{List: slices.Concat(strings.Fields(sub), flags, kept, args[end:]), changes: true}
}

// Names returns the files in the output of List, from the top of the working tree. It
// fails if that is not what was asked for.
func (q Query) Names(output string) (names []string, err error) {
	fields := strings.Split(strings.TrimSuffix(output, "\x00"), "\x00")
	for i := 0; i < len(fields); i++ {
		field := strings.TrimLeft(fields[i], "\n")
		switch {
		case field == "":
		case !q.changes:
			for _, tree := range q.trees {
				field = strings.TrimPrefix(field, tree+":")
			}
			names = append(names, field)
		case !change.MatchString(field):
			return nil, errors.New("git lists something other than files")
		default:
			n := 1
			if field[0] == 'R' || field[0] == 'C' {
				n = 2
			}
			if i+n >= len(fields) {
				return nil, errors.New("git lists something other than files")
			}
			if field != "R100" && field != "C100" { // of these only the names are printed
				names = append(names, fields[i+1:i+1+n]...)
			}
			i += n
		}
	}
	return names, nil
}

// Lookups are names, one a line, for git cat-file --batch-check=[KindFormat].
func (q Query) Lookups() []string {
	names := make([]string, len(q.lookups))
	for i, l := range q.lookups {
		names[i] = l.name
	}
	return names
}

// Resolve takes the kinds of all Lookups, in their order. It returns the files that are named
// with a revision, and the folders at which the names of a list may begin. Paths begin at the
// top of the work tree, or with a dot at the working directory. It fails if a file is shown of
// which nobody knows the name.
func (q Query) Resolve(kinds []string) (files, folders []string, err error) {
	if len(kinds) != len(q.lookups) {
		return nil, nil, errors.New("git does not say what it would show")
	}
	for i, l := range q.lookups {
		kind, size, _ := strings.Cut(kinds[i], " ")
		folder := kind == "tree" && size != "0" // the empty one gives no name to anything
		switch {
		case l.named && kind == "blob":
			files = append(files, l.path)
		case l.named && kind == "tree":
			folders = append(folders, l.path)
		case strings.HasSuffix(kinds[i], " ambiguous"), kind == "blob" || folder && (l.root || !q.listsFolders):
			return nil, nil, errors.New("it shows an object, and haft cannot tell which file that is")
		}
	}
	return files, folders, nil
}

// Excludable reports whether a pattern of paths can leave a file of the list out: not if
// git names files from a folder of a revision, or compares as diff does.
func (q Query) Excludable() bool {
	return q.Reverse == nil && !slices.ContainsFunc(q.lookups, func(l lookup) bool { return l.named })
}

// change is what --name-status says about a file, or about it in several parents.
var change = lazyregexp.New(`^[ACDMRTUXB]+[0-9]*$`)

// patch reports whether changes are printed with their lines: byDefault, or because
// a flag asks for it.
func patch(args []string, byDefault bool) bool {
	for _, w := range args {
		switch {
		case w == "--":
			return byDefault
		case slices.Contains([]string{"-p", "-u", "--patch", "-c", "--cc", "--dd", "-W", "--function-context", "--binary", "--patch-with-stat", "--patch-with-raw", "--remerge-diff", "--check", "--full-diff", "-m"}, w),
			strings.HasPrefix(w, "-U"), strings.HasPrefix(w, "--unified"), strings.HasPrefix(w, "--word-diff"), strings.HasPrefix(w, "--color-words"), strings.HasPrefix(w, "--diff-merges"), strings.HasPrefix(w, "-L"),
			strings.HasPrefix(w, "--inter-hunk-context"), strings.HasPrefix(w, "--ws-error-highlight"):
			return true
		case strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && len(w) > 2 && strings.ContainsAny(w[1:], "puWUcL"):
			return true // several short flags in one word, or one with its value
		case slices.Contains([]string{"--name-only", "--name-status", "-s", "--no-patch", "--quiet", "--shortstat", "--numstat", "--raw", "--summary", "--compact-summary"}, w), strings.HasPrefix(w, "--stat"), strings.HasPrefix(w, "--dirstat"):
			byDefault = false
		}
	}
	return byDefault
}

// has reports whether one of some flags is given: a long one may be shortened, and a short one may stand in a word with others, up
// to one of valued, which take the rest.
func has(args []string, valued string, flags ...string) bool {
	for _, w := range args {
		long, _, _ := strings.Cut(w, "=")
		short, together := strings.CutPrefix(w, "-")
		together = together && !strings.HasPrefix(short, "-")
		if end := strings.IndexAny(short, valued); end >= 0 {
			short = short[:end]
		}
		for _, f := range flags {
			if len(f) > 2 && len(long) > 2 && strings.HasPrefix(f, long) || len(f) == 2 && together && strings.Contains(short, f[1:]) {
				return true
			}
		}
	}
	return false
}

func namesOnly(args []string, flags ...string) bool {
	return slices.ContainsFunc(args, func(w string) bool { return slices.Contains(flags, w) })
}

// verbose returns how often status or commit is told to show changes.
func verbose(args []string) (n int) {
	for _, w := range args {
		if len(w) > 2 && strings.HasPrefix("--verbose", w) {
			n++
		} else if strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") {
			n += strings.Count(w, "v")
		}
	}
	return n
}

// named reports whether a word is a file or folder of a revision, which says which one
// that is.
func named(w string) bool {
	_, _, named := splitPath(w)
	return named && w[0] != '-'
}

// operands returns the revisions that are given, values of flags among them.
func operands(args []string) (out []string) {
	for _, w := range args {
		if w == "--" {
			break
		}
		if w != "" && w[0] != '-' {
			out = append(out, w)
		}
	}
	return out
}
