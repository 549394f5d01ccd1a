package bash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/tool"
)

// An Edit changes a text file in place, by way of whatever guards the edits of
// a session: read state, encodings, atomic writes.
type Edit struct {
	// Preview returns the text of a file, and what it would be after change as
	// a diff for people. It writes nothing. An error means that the file cannot
	// be edited in this way; the command then runs like any other.
	Preview func(ctx context.Context, path string, change func(old string) (string, error)) (oldText, newText, diff string, err error)

	// Apply writes newText to a file whose text must still be that with the
	// SHA-256 sum base, in hexadecimal.
	Apply func(ctx context.Context, path, base, newText string) error
}

// A SedEdit is a sed -i command as the file edit that was shown and approved.
type SedEdit struct {
	FilePath   string `json:"filePath"`
	Base       string `json:"base"` // the sum of the text that was shown
	NewContent string `json:"newContent"`
}

// permission shows a plain sed -i as the edit it is. The rules have the last
// word on it, as on every other command, of which this tool has no view.
func (t *Tools) permission(ctx context.Context, c *tool.Call, in Input) tool.Verdict {
	in.SedEdit = nil // what it was computed from may have changed since
	if t.opts.Edit == nil || in.RunInBackground {
		return tool.Verdict{}
	}
	sub, ok := parseSed(in.Command)
	if !ok {
		return tool.Verdict{}
	}
	file := sub.file
	if !filepath.IsAbs(file) {
		file = filepath.Join(t.shell(c.Agent).Dir(), file)
	}
	// sed replaces a link by a file, and edits nothing but files.
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return tool.Verdict{}
	}
	oldText, newText, diff, err := t.opts.Edit.Preview(ctx, file, sub.apply)
	if err != nil {
		return tool.Verdict{}
	}
	sum := sha256.Sum256([]byte(oldText))
	in.SedEdit = &SedEdit{FilePath: file, Base: hex.EncodeToString(sum[:]), NewContent: newText}
	raw, err := json.Marshal(in)
	if err != nil {
		return tool.Verdict{}
	}
	message := fmt.Sprintf("The command edits %s:\n%s", file, diff)
	if oldText == newText {
		message = fmt.Sprintf("The command would change nothing in %s.", file)
	}
	return tool.Verdict{Behavior: tool.Ask, Message: message, Reason: "it edits a file", Input: raw}
}

// applySed writes the edit that was approved.
func (t *Tools) applySed(ctx context.Context, in Input) (Output, error) {
	if t.opts.Edit == nil {
		return Output{}, tool.Errorf("Files cannot be edited by sed in this session. Use the Edit tool.")
	}
	if err := t.opts.Edit.Apply(ctx, in.SedEdit.FilePath, in.SedEdit.Base, in.SedEdit.NewContent); err != nil {
		return Output{}, tool.Errorf("The edit of %s by sed was not made: %w.", in.SedEdit.FilePath, err)
	}
	return Output{NoOutputExpected: true}, nil
}

// parseSed recognises a command that is one plain sed -i of one substitution on
// one file. What it does not recognise is no error.
func parseSed(command string) (substitution, bool) {
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
