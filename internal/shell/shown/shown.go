// Package shown finds the files whose text a shell command prints or writes as it
// is: cat, head, tail and sed -n on files that are named, and what a here-document
// puts into one. A model that ran such a command knows that text as if it had used
// Read or Write.
//
//	for _, p := range shown.Find("sed -n '10,20p' main.go") { … }
//
// What Find returns is a guess from the words of the command. The caller compares
// it with the output and the file before it counts, so that a wrong guess means
// nothing. Find starts nothing, opens nothing and is safe for concurrent use.
package shown

import (
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// A Part is a run of lines of a file.
type Part struct {
	Path string // as it is in the command
	// From and To are the first and the last line, counted from 1; a negative one
	// counts from the end, -1 being the last line.
	From, To int
	// Written is what the command puts into the file; nil if it prints the file.
	Written *string
}

// maxCommand bounds what is read: long commands print much else.
const maxCommand = 200_000

// Find returns the parts of files that a command shows.
func Find(command string) (parts []Part) {
	if len(command) > maxCommand {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil
	}
	for _, s := range file.Stmts {
		parts = append(parts, statement(s)...)
	}
	return parts
}

// statement looks at what runs in this shell and prints to its output: the parts of
// a list, and no pipes or subshells.
func statement(s *syntax.Stmt) []Part {
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			return append(statement(c.X), statement(c.Y)...)
		}
	case *syntax.CallExpr:
		words, ok := literals(c.Args)
		if !ok || len(words) == 0 || len(c.Assigns) > 0 {
			return nil
		}
		if len(s.Redirs) > 0 {
			return written(words, s.Redirs)
		}
		return printed(path.Base(words[0]), words[1:])
	}
	return nil
}

// literals are the values of words that are known.
func literals(words []*syntax.Word) (values []string, ok bool) {
	for _, w := range words {
		v, ok := literal(w)
		if !ok {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

func literal(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[{~\\") {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, in := range p.Parts {
				lit, ok := in.(*syntax.Lit)
				if !ok || strings.Contains(lit.Value, "\\") {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// written finds cat > FILE <<EOF and tee FILE <<EOF.
func written(words []string, redirects []*syntax.Redirect) []Part {
	var target, text string
	var found bool
	for _, r := range redirects {
		switch r.Op {
		case syntax.Hdoc:
			body, ok := document(r.Hdoc)
			if !ok {
				return nil
			}
			text, found = body, true
		case syntax.RdrOut, syntax.RdrClob:
			name, ok := literal(r.Word)
			if !ok || r.N != nil {
				return nil
			}
			target = name
		default:
			return nil
		}
	}
	if len(words) == 2 && path.Base(words[0]) == "tee" && !strings.HasPrefix(words[1], "-") {
		target = words[1]
	} else if len(words) != 1 || words[0] != "cat" {
		return nil
	}
	if !found || target == "" {
		return nil
	}
	return []Part{{Path: target, From: 1, To: -1, Written: &text}}
}

// document is the text of a here-document without expansions.
func document(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", true
	}
	var b strings.Builder
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		b.WriteString(lit.Value)
	}
	return b.String(), true
}

var (
	span  = lazyregexp.New(`^(\d+)(?:,(\d+|\$))?p$`)
	count = lazyregexp.New(`^(?:-n|--lines=|-)(\d+)$`)
)

// printed finds what a command without redirections prints of its operands.
func printed(name string, args []string) (parts []Part) {
	from, to := 1, -1
	switch name {
	case "cat":
	case "head", "tail":
		n := 10
		if len(args) > 1 && args[0] == "-n" {
			args = append([]string{"-n" + args[1]}, args[2:]...)
		}
		if len(args) > 0 {
			if m := count.FindStringSubmatch(args[0]); m != nil {
				n, _ = strconv.Atoi(m[1])
				args = args[1:]
			}
		}
		if len(args) != 1 || n == 0 {
			return nil // several files come with headers
		}
		if to = n; name == "tail" {
			from, to = -n, -1
		}
	case "sed":
		if len(args) != 3 || args[0] != "-n" {
			return nil
		}
		m := span.FindStringSubmatch(args[1])
		if m == nil {
			return nil
		}
		from, _ = strconv.Atoi(m[1])
		switch m[2] {
		case "":
			to = from
		case "$":
		default:
			to, _ = strconv.Atoi(m[2])
		}
		args = args[2:]
	default:
		return nil
	}
	for _, file := range args {
		if file == "" || strings.HasPrefix(file, "-") {
			return nil // an option changes what is printed
		}
		parts = append(parts, Part{Path: file, From: from, To: to})
	}
	return parts
}
