package bash

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/world/workspace/disk"
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

// sedEdit returns the substitution that a plain sed -i makes, and the file; nil for any other
// command, which runs as it is.
func (t *Tools) sedEdit(c *tool.Call) (*substitution, string) {
	f := t.facts(c)
	if f.sed == nil {
		return nil, ""
	}
	// sed replaces a link by a file, gives a file with several names one of its own, and edits
	// nothing but files.
	if info, err := disk.OS().Lstat(f.file); err != nil || !info.Mode.IsRegular() || info.Links > 1 {
		return nil, ""
	}
	return f.sed, f.file
}

// paths are known of a sed -i alone: of other commands the rules find out
// themselves what they can.
func (t *Tools) paths(c *tool.Call, _ Input) tool.Paths {
	if sub, file := t.sedEdit(c); sub != nil {
		return tool.Paths{Writes: []string{file}}
	}
	return tool.Paths{}
}

func (t *Tools) previewSed(ctx context.Context, c *tool.Call) (*tool.Preview, error) {
	sub, file := t.sedEdit(c)
	if sub == nil {
		return nil, nil
	}
	p, err := t.opts.Edit.Preview(ctx, c, file, sub.apply)
	if err != nil {
		return nil, nil // it runs as a command, whose effect is not known
	}
	return p, nil
}

// permission asks about a plain sed -i as the edit it is. The rules have the last
// word on it, as on every other command, of which this tool has no view.
func (t *Tools) permission(ctx context.Context, c *tool.Call, _ Input) tool.Verdict {
	p, _ := t.previewSed(ctx, c)
	if p == nil {
		return tool.Verdict{}
	}
	message := "The command would change nothing."
	for _, f := range p.Files {
		message = fmt.Sprintf("The command edits %s.", f.Path)
	}
	return tool.Verdict{Behavior: tool.Ask, Message: message, Reason: "it edits a file"}
}

// applySed makes the edit that a sed -i is; made is false for any other command.
func (t *Tools) applySed(ctx context.Context, c *tool.Call) (out Output, made bool, err error) {
	sub, file := t.sedEdit(c)
	p, _ := t.previewSed(ctx, c)
	if sub == nil || p == nil {
		err := c.Approve(nil) // what was approved as an edit does not run as something else
		return Output{}, err != nil, err
	}
	if err := t.opts.Edit.Apply(ctx, c, file, sub.apply); err != nil {
		if errors.Is(err, tool.ErrUnapproved) {
			return Output{}, true, err
		}
		return Output{}, true, tool.Errorf("The sed edit of %s was not made: %w.", file, err)
	}
	return Output{NoOutputExpected: true}, true, nil
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
