// Package commandtool makes tools of Markdown files that name a command: the fields say what the
// contract of package tool asks for, the text is the description, and the command gets the input
// on its standard input.
//
// What it may touch is what the user may: a command tool runs unconfined, like a hook. What
// confines it is that a file of a project counts only if the user trusts it as it is, and that
// rules judge each call by the paths that the file declares. A file that declares too little
// deceives them.
package commandtool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

// source is the [tool.Tool.Source] of command tools.
const source = "command"

// A Process is a command that a tool starts.
type Process struct {
	// Line is for the shell, and Dir where it starts.
	Line, Dir string
	// Vars are variables that it gets beside the usual ones, as NAME=value.
	Vars  []string
	Input []byte
	// Errors is called with each line of standard error.
	Errors func(line string)
}

// A RunFunc runs a process to its end and returns what it has written to standard output.
type RunFunc func(ctx context.Context, p Process) (out []byte, code int, err error)

// parts are the questions that a file may say its command answers.
var parts = []string{string(tool.ValidatePart), string(tool.PermissionPart), string(tool.PreviewPart)}

// Name is the name of the tool that a file describes.
func Name(p knowledge.Piece) string {
	return strings.ReplaceAll(p.Name, ":", "__") // of a plugin
}

// New returns the tool that a file describes.
func New(p knowledge.Piece, run RunFunc) (tool.Tool, error) {
	d := definition{piece: p, run: run, line: p.Fields.Text("command"), reads: p.Fields.List("reads"), writes: p.Fields.List("writes")}
	if d.line == "" {
		return tool.Tool{}, errors.New("no command")
	}
	input, err := p.Fields.JSON("input")
	if err != nil || string(input) == "null" {
		return tool.Tool{}, errors.New("no input: give the JSON Schema of the input, for example {type: object, properties: {city: {type: string}}}")
	}
	shape, err := schema.Parse(input)
	if err != nil {
		return tool.Tool{}, err
	}
	asked := p.Fields.List("answers")
	for _, part := range asked {
		if !slices.Contains(parts, part) {
			return tool.Tool{}, fmt.Errorf("answers: %q is not one of %s", part, strings.Join(parts, ", "))
		}
	}
	marks := tool.Marks{
		ReadOnly: p.Fields.Flag("read-only", false), ConcurrencySafe: p.Fields.Flag("concurrent", false), Destructive: p.Fields.Flag("destructive", false),
	}
	if p.Fields.Flag("idempotent", marks.ReadOnly) {
		marks.Effect = tool.Idempotent
	}
	description := cmp.Or(strings.TrimSpace(p.Body), p.Fields.Text("description"))
	if description == "" {
		return tool.Tool{}, errors.New("no description: it is the text below the fields")
	}
	t := tool.Tool{
		Name: Name(p), Title: p.Fields.Text("title"), Source: source, Input: shape, SearchHint: p.Fields.Text("search-hint"),
		Describe: func(*tool.Session) string { return description },
		Marks:    func(*tool.Call) tool.Marks { return marks },
		Run:      d.call, MaxResult: p.Fields.Number("max-result"),
		Meta: map[string]any{tool.AlwaysLoad: !p.Fields.Flag("deferred", false)},
	}
	if len(d.reads)+len(d.writes) > 0 {
		t.Paths = d.paths
	}
	tool.Contract{
		Validate: slices.Contains(asked, parts[0]), Permission: slices.Contains(asked, parts[1]), Preview: slices.Contains(asked, parts[2]),
		Block: p.Fields.Flag("finish-on-interrupt", false),
	}.Attach(&t, d.ask)
	return t, t.Check()
}

// A definition is the file of a tool.
type definition struct {
	piece         knowledge.Piece
	run           RunFunc
	line          string
	reads, writes []string
}

// paths fills the templates in. One that names a field that the input does not have touches
// nothing.
func (d *definition) paths(c *tool.Call) tool.Paths {
	var in map[string]any
	_ = json.Unmarshal(c.Input, &in) // what is no object has no fields
	return tool.Paths{Reads: filled(d.reads, in, c.Dir), Writes: filled(d.writes, in, c.Dir)}
}

func filled(templates []string, in map[string]any, dir string) (paths []string) {
	for _, t := range templates {
		whole := true
		path := field.ReplaceAllStringFunc(t, func(name string) string {
			text, ok := in[strings.Trim(name, "{}")].(string)
			whole = whole && ok && text != ""
			return text
		})
		if !whole {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		paths = append(paths, path)
	}
	return paths
}

// most is how long a command may run, unless the file says otherwise, and how long it may take to
// answer a question.
const (
	mostRun    = 10 * time.Minute
	mostAnswer = 30 * time.Second
)

// call runs the command.
func (d *definition) call(ctx context.Context, c *tool.Call) (tool.Result, error) {
	most := mostRun
	if n := d.piece.Fields.Number("timeout"); n > 0 {
		most = time.Duration(n) * time.Second
	}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var last lastLines
	began := time.Now()
	out, code, err := d.run(limited, d.process("run", c, func(line string) {
		last.add(line)
		c.Report(tool.TextProgress{Text: line, Elapsed: time.Since(began)})
	}))
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case limited.Err() != nil:
		return tool.Result{}, tool.Errorf("%s was stopped after %s. It may have taken partial effect.\n%s", c.Tool, most, last.text())
	case err != nil:
		return tool.Result{}, tool.Errorf("%s could not be run: %w", c.Tool, err)
	case code != 0:
		return tool.Failure(strings.TrimSpace(fmt.Sprintf("%s\n%s\n(exit code %d)", strings.ToValidUTF8(string(out), "\ufffd"), last.text(), code))), nil
	}
	text := strings.TrimRight(strings.ToValidUTF8(string(out), "\ufffd"), "\n")
	return tool.Text(cmp.Or(text, "("+c.Tool+" wrote nothing)")), nil
}

// ask has the command answer a question about a call.
func (d *definition) ask(ctx context.Context, part tool.ContractPart, c *tool.Call) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, mostAnswer)
	defer cancel()
	var last lastLines
	out, code, err := d.run(ctx, d.process(string(part), c, last.add))
	switch {
	case err != nil:
		return nil, err
	case code != 0:
		return nil, fmt.Errorf("exit code %d: %s", code, last.text())
	}
	return out, nil
}

// process is the command for one part of the contract.
func (d *definition) process(part string, c *tool.Call, errors func(string)) Process {
	var vars []string
	for name, value := range d.piece.Vars(map[string]string{"HAFT_TOOL": c.Tool, "HAFT_TOOL_PART": part, "HAFT_TOOL_APPROVED": c.Approved}) {
		vars = append(vars, name+"="+value)
	}
	return Process{Line: d.line, Dir: c.Dir, Vars: vars, Input: c.Input, Errors: errors}
}

// lastLines are the ends of what a command writes to standard error.
type lastLines []string

func (l *lastLines) add(line string) {
	const most = 20
	*l = append(*l, line)
	*l = (*l)[max(0, len(*l)-most):]
}

func (l *lastLines) text() string { return strings.Join(*l, "\n") }

// field is a field of the input in a template.
var field = lazyregexp.New(`\{[A-Za-z_][A-Za-z0-9_-]*\}`)
