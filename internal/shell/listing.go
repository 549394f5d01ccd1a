package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/shell/grammar"
)

// A word that a file or a program chooses may name any file of the machine. Only
// where a command is known to print names of files below the working directory,
// and the folder holds nothing that leads elsewhere, may another command be given
// what it prints.

// A listing is a command that prints names of files, one to a line.
type listing struct {
	null  bool     // names end in NUL, so that blanks in them do no harm
	names []string // patterns of which each name fits one; nil: any name
	links bool     // it may name what is only reached through a link
}

// lists reports whether statements print nothing but names of files below the
// working directory, and notes what they list.
func (a *analyzer) lists(stmts []*syntax.Stmt) bool {
	if len(stmts) != 1 || a.moved() {
		return false
	}
	l, ok := a.listing(stmts[0])
	if ok {
		a.listings = append(a.listings, l)
	}
	return ok
}

// printsPlace reports whether a statement prints where the shell or the work tree
// is, which no file and no program chooses.
func (a *analyzer) printsPlace(stmts []*syntax.Stmt) bool {
	if len(stmts) != 1 || len(stmts[0].Redirs) > 0 {
		return false
	}
	call, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	words, ok := a.fixedWords(call)
	return ok && slices.Contains([]string{"pwd", "git rev-parse --show-toplevel"}, strings.Join(words, " "))
}

// feedsList reports whether the input that redirections give is such a list:
// < <(find …).
func (a *analyzer) feedsList(list []*syntax.Redirect) bool {
	from := slices.DeleteFunc(slices.Clone(list), func(r *syntax.Redirect) bool { return !feeds(r) })
	if len(from) != 1 || from[0].Op != syntax.RdrIn || len(from[0].Word.Parts) != 1 {
		return false
	}
	p, ok := from[0].Word.Parts[0].(*syntax.ProcSubst)
	return ok && p.Op == syntax.CmdIn && a.lists(p.Stmts)
}

func (a *analyzer) listing(st *syntax.Stmt) (listing, bool) {
	if st.Background || st.Coprocess || slices.ContainsFunc(st.Redirs, func(r *syntax.Redirect) bool { return r.N == nil || r.N.Value != "2" }) {
		return listing{}, false
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe {
			return listing{}, false
		}
		l, ok := a.listing(c.X)
		call, isCall := c.Y.Cmd.(*syntax.CallExpr)
		return l, ok && isCall && !slices.ContainsFunc(c.Y.Redirs, feeds) && a.keepsLines(call)
	case *syntax.CallExpr:
		return a.listingCall(c)
	}
	return listing{}, false
}

// listingCall judges one command. All of its words must be written out.
func (a *analyzer) listingCall(c *syntax.CallExpr) (listing, bool) {
	words, ok := a.fixedWords(c)
	if !ok || len(words) == 0 {
		return listing{}, false
	}
	name, args := words[0], words[1:]
	switch name {
	case "find":
		return findListing(args)
	case "ls":
		return listing{}, plainFlags(args, "1AatrSdpU") && allBelow(args)
	case "fd", "fdfind":
		return listing{}, allBelow(args) && !flagged(args, "xXLl", "--exec", "--exec-batch", "--follow", "--list-details", "--base-directory", "--search-path", "--format")
	case "rg":
		return listing{}, allBelow(args) && !flagged(args, "L", "--follow") && (flagged(args, "l") || slices.Contains(args, "--files") || slices.Contains(args, "--files-with-matches"))
	case "grep", "egrep", "fgrep":
		return listing{}, allBelow(args) && !flagged(args, "R", "--dereference-recursive") && (flagged(args, "lL") || slices.Contains(args, "--files-with-matches"))
	case "git":
		return listing{}, allBelow(args) && gitListing(args)
	case "echo", "printf":
		return listing{}, allBelow(args) && !slices.ContainsFunc(args, func(s string) bool {
			return strings.Contains(s, `\x`) || strings.Contains(s, `\0`) || strings.Contains(s, `\u`)
		})
	}
	return listing{}, false
}

// fixedWords returns the words of a command that holds nothing to expand but
// patterns, which are kept as they are written.
func (a *analyzer) fixedWords(c *syntax.CallExpr) ([]string, bool) {
	if len(c.Assigns) > 0 {
		return nil, false
	}
	var out []string
	for _, w := range c.Args {
		if !fixed(w) {
			return nil, false // and never walk a substitution twice
		}
		v := a.value(w)
		if v.Dynamic || v.refuse != "" {
			return nil, false
		}
		out = append(out, v.guess)
	}
	return out, true
}

// keepsLines reports whether a command passes on some of its input's lines as
// they are.
func (a *analyzer) keepsLines(c *syntax.CallExpr) bool {
	words, ok := a.fixedWords(c)
	if !ok || len(words) == 0 {
		return false
	}
	switch args := words[1:]; words[0] {
	case "head", "tail":
		return !flagged(args, "cf", "--bytes", "--follow") && !slices.ContainsFunc(args, func(s string) bool { return !strings.HasPrefix(s, "-") && strings.Trim(s, "0123456789+") != "" })
	case "sort", "uniq":
		return plainFlags(args, "nrufzVhdb") && len(args) < 4 && !slices.ContainsFunc(args, func(s string) bool { return !strings.HasPrefix(s, "-") })
	case "grep", "egrep", "fgrep":
		operands := slices.DeleteFunc(slices.Clone(args), func(s string) bool { return strings.HasPrefix(s, "-") })
		return plainFlags(args, "viEFwxPz") && len(operands) == 1
	case "cat":
		return len(args) == 0
	}
	return false
}

// findListing judges find: what it prints starts with the folders that it is
// given, and -printf and -ls print something else.
func findListing(args []string) (listing, bool) {
	var l listing
	plain := true // each test must hold: no -o, no !, no brackets
	for i := 0; i < len(args); i++ {
		switch s := args[i]; s {
		case "-L", "-follow", "-printf", "-ls", "-D":
			return listing{}, false
		case "-print0":
			l.null = true
		case "-o", "-or", "!", "-not", "(", ")", ",":
			plain = false
		case "-name", "-iname":
			if i++; i < len(args) {
				l.names = append(l.names, args[i])
			}
		default:
			if !strings.HasPrefix(s, "-") && (i == 0 || !strings.HasPrefix(args[i-1], "-")) && !below(s) {
				return listing{}, false
			}
		}
	}
	if !plain && !onlyAlternatives(args) {
		l.names = nil
	}
	return l, true
}

// onlyAlternatives reports whether the brackets of find hold nothing but names
// with -o between them, so that each name fits one of the patterns.
func onlyAlternatives(args []string) bool {
	open := slices.Index(args, "(")
	end := slices.Index(args, ")")
	if slices.Contains(args, "!") || slices.Contains(args, "-not") || slices.Contains(args, ",") || slices.Contains(args, "-or") {
		return false
	}
	inside := func(i int) bool { return open >= 0 && i > open && i < end }
	for i, s := range args {
		if s == "-o" && !inside(i) || inside(i) && strings.HasPrefix(s, "-") && s != "-o" && s != "-name" && s != "-iname" {
			return false
		}
	}
	return strings.Count(strings.Join(args, "\n"), "\n(") <= 1
}

// gitListing judges git ls-files, git grep -l and git diff --name-only.
func gitListing(args []string) bool {
	for len(args) > 0 && args[0] == "--no-pager" {
		args = args[1:]
	}
	if len(args) == 0 {
		return false
	}
	switch rest := args[1:]; args[0] {
	case "ls-files":
		return plainFlags(rest, "comdz") || slices.Contains(rest, "--others") && !flagged(rest, "stvuk", "--stage", "--format", "--eol", "--debug")
	case "grep":
		return flagged(rest, "l") || slices.Contains(rest, "--name-only") || slices.Contains(rest, "--files-with-matches")
	case "diff", "show", "log":
		return args[0] == "diff" && slices.Contains(rest, "--name-only") && !slices.Contains(rest, "--no-index")
	}
	return false
}

// plainFlags reports whether all flags are clusters of these letters.
func plainFlags(args []string, letters string) bool {
	return !slices.ContainsFunc(args, func(s string) bool {
		return strings.HasPrefix(s, "-") && s != "--" && strings.Trim(s[1:], letters) != ""
	})
}

// flagged reports whether some word is a cluster with one of the letters, or one
// of the long flags.
func flagged(args []string, letters string, long ...string) bool {
	return slices.ContainsFunc(args, func(s string) bool {
		if strings.HasPrefix(s, "--") {
			return slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(s, l) })
		}
		return strings.HasPrefix(s, "-") && strings.ContainsAny(s[1:], letters)
	})
}

// allBelow reports whether no word is a path that leads out of the working
// directory; a flag's value is judged as well.
func allBelow(args []string) bool {
	return !slices.ContainsFunc(args, func(s string) bool {
		if _, value, ok := strings.Cut(s, "="); ok && strings.HasPrefix(s, "-") {
			s = value
		}
		return !below(s)
	})
}

// below reports whether a path or pattern, whatever it becomes, stays below the
// directory that it starts from, links aside.
func below(p string) bool {
	return !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") && !slices.Contains(strings.Split(p, "/"), "..") && !strings.Contains(p, "..") || p == "..."
}

// unknownFile returns why a file that a word names, or may name, must not be read
// unasked, "" if it may.
func (a *analyzer) unknownFile(w grammar.Word) string {
	switch {
	case !w.Dynamic || !w.Wild:
		return ""
	case !w.Listed:
		return "the files that it reads are only known at run time"
	}
	return a.untame()
}

// untame returns why the names that listings print may lead out of the project
// or to a credential.
func (a *analyzer) untame() string {
	for _, dir := range a.dirs {
		if a.opts.FS == nil {
			continue
		}
		if !strings.HasPrefix(dir, "/") {
			return "the files that it reads are only known at run time"
		}
		t := a.tree(dir)
		listings := a.listings
		if len(listings) == 0 { // a pattern that a loop goes through
			listings = []listing{{}}
		}
		for _, l := range listings {
			a.addSecrets(dir, slices.DeleteFunc(slices.Clone(t.secret), func(name string) bool { return !l.covers(name) }))
		}
		for _, l := range listings {
			if reason := t.trouble(l); reason != "" {
				return reason
			}
		}
	}
	return ""
}

func (l listing) covers(name string) bool {
	return l.names == nil || slices.ContainsFunc(l.names, func(p string) bool {
		ok, err := path.Match(strings.ToLower(p), strings.ToLower(path.Base(name)))
		return ok || err != nil
	})
}
