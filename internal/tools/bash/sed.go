package bash

import (
	"context"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/tool"
)

// An Edit changes a text file in place, with the same protection as all edits of a session:
// read state, encodings, atomic writes, approvals.
type Edit struct {
	// Preview returns what Apply would change. An error means that the file cannot
	// be edited in this way; the command then runs like any other.
	Preview func(ctx context.Context, c *tool.Call, path string, change func(old string) (string, error)) (*tool.Preview, error)

	// Apply changes the file.
	Apply func(ctx context.Context, c *tool.Call, path string, change func(old string) (string, error)) error
}

// soleCommand returns the words of a command line that is one simple command of
// plain words and nothing else.
func soleCommand(text string) ([]string, bool) {
	if strings.ContainsAny(text, "\r\x00#") { // where this parser and bash are known to differ
		return nil, false
	}
	stmts := parse(text)
	if len(stmts) != 1 {
		return nil, false
	}
	stmt := stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || stmt.Negated || stmt.Background || stmt.Coprocess || len(stmt.Redirs) > 0 || len(call.Assigns) > 0 {
		return nil, false
	}
	var words []string
	for _, arg := range call.Args {
		word, ok := plainWord(arg)
		if !ok || globs(arg) {
			return nil, false
		}
		words = append(words, word)
	}
	return words, true
}

// globs reports whether a word has unquoted text that the shell may expand.
func globs(word *syntax.Word) bool {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.ContainsAny(lit.Value, "*?[]{}~!") {
			return true
		}
	}
	return false
}
