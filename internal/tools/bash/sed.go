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

// parseSed recognises a command that is one plain sed -i of one substitution on
// one file. What it does not recognise is not an error.
func parseSed(command string) (substitution, bool) {
	if !strings.Contains(command, "sed") { // most commands
		return substitution{}, false
	}
	args, ok := soleCommand(command)
	if !ok || len(args) < 4 || args[0] != "sed" {
		return substitution{}, false
	}
	var inPlace, extended bool
	var script string
	var rest []string
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-i" || arg == "--in-place":
			inPlace = true
		case arg == "-E" || arg == "-r" || arg == "--regexp-extended":
			extended = true
		case arg == "-e" && script == "" && i+1 < len(args):
			i++
			script = args[i]
		case strings.HasPrefix(arg, "-"):
			return substitution{}, false
		default:
			rest = append(rest, arg)
		}
	}
	if script == "" && len(rest) > 0 {
		script, rest = rest[0], rest[1:]
	}
	if !inPlace || len(rest) != 1 || rest[0] == "" {
		return substitution{}, false
	}
	sub, ok := parseSubstitution(script, extended)
	sub.file = rest[0]
	return sub, ok
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
