package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A simple is the command whose exit code is that of a whole command line: its
// words as far as they are plain text. The zero value is a command line of
// which that cannot be said.
type simple struct {
	words []string
	chain bool // commands before it, joined by &&, may have failed instead
}

// lastCommand finds the command that a shell's exit code comes from.
func lastCommand(text string) simple {
	stmts := parse(text)
	if len(stmts) == 0 || strings.Contains(text, "pipefail") {
		return simple{}
	}
	return lastOf(stmts[len(stmts)-1])
}

// maxParsed is the longest command that is parsed. The parser recurses: a
// hundred thousand open parentheses take it seconds, a million the process.
const maxParsed = 16 << 10

// parse returns the statements of a command, none if it cannot be read.
func parse(text string) []*syntax.Stmt {
	if len(text) > maxParsed {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file.Stmts
}

func lastOf(stmt *syntax.Stmt) simple {
	if stmt.Negated || stmt.Background || stmt.Coprocess {
		return simple{}
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return simple{words: unwrap(plainWords(cmd.Args))}
	case *syntax.TestClause:
		return simple{words: []string{"[["}}
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return lastOf(cmd.Stmt)
		}
	case *syntax.Block:
		return lastOf(cmd.Stmts[len(cmd.Stmts)-1])
	case *syntax.Subshell:
		return lastOf(cmd.Stmts[len(cmd.Stmts)-1])
	case *syntax.BinaryCmd:
		last := lastOf(cmd.Y)
		if cmd.Op == syntax.AndStmt && !harmless(cmd.X) {
			return simple{}
		}
		last.chain = last.chain || cmd.Op == syntax.AndStmt
		return last
	}
	return simple{}
}

// harmless reports whether a command before && fails, if ever, with a complaint
// by the shell itself, so that a silent failure is that of the last command.
func harmless(stmt *syntax.Stmt) bool {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		words := plainWords(cmd.Args)
		return len(words) == 0 || preparing[words[0]]
	case *syntax.DeclClause:
		return true
	case *syntax.BinaryCmd:
		return cmd.Op == syntax.AndStmt && harmless(cmd.X) && harmless(cmd.Y)
	}
	return false
}

// preparing are builtins that set the stage for the command that counts.
var preparing = map[string]bool{
	"cd": true, "pushd": true, "popd": true, "set": true, "unset": true, "shopt": true, "umask": true, "ulimit": true,
	"echo": true, "printf": true, "pwd": true, "true": true, ":": true, "export": true,
}

// plainWords returns words without quotes; a word with an expansion in it is
// "".
func plainWords(args []*syntax.Word) []string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i], _ = plainWord(arg)
	}
	return words
}

// plainWord returns the text of a word that has no expansion in it.
func plainWord(word *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(part.Value))
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar {
				return "", false
			}
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(unescapeQuoted(lit.Value))
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescape takes backslashes off unquoted text.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapeQuoted takes off the backslashes that mean something within double
// quotes.
func unescapeQuoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unwrap takes off commands that run another one and pass on its exit code.
func unwrap(words []string) []string {
	for len(words) > 1 && (words[0] == "command" || words[0] == "nohup" || words[0] == "nice") && !strings.HasPrefix(words[1], "-") {
		words = words[1:]
	}
	return words
}
