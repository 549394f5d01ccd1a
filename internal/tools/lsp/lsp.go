// Package lsp provides the LSP tool, which asks language servers about code.
//
//	tools := lsp.New(&lsp.Options{Servers: servers, Confined: confined})
//	set := tool.NewSet(session, []tool.Tool{tools.LSP()}, nil, nil)
//
// Tools is safe for concurrent use. The servers are processes of the host, which ends them.
//
// Trust: the tool itself only reads. A server is another program, and some servers run code of
// the project. If the server is confined to reading, calls count as read-only. Otherwise a
// call can do whatever the server can, so the user is asked unless a rule allows it. The
// output of a server is untrusted text. Files that may not be shown are not named in results,
// but the server reads them, and a hover may quote them.
package lsp

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/lsp"
	"github.com/haftdev/haft/tool"
)

//go:embed lsp.md
var description string

// Input is what the model sends.
type Input struct {
	Operation string `json:"operation" jsonschema:"What to ask." haft:"enum=goToDefinition|findReferences|hover|documentSymbol|workspaceSymbol|goToImplementation|prepareCallHierarchy|incomingCalls|outgoingCalls|diagnostics;example=findReferences"`
	FilePath  string `json:"filePath" jsonschema:"Absolute path of the file." haft:"path;min=1;alias=file_path|path|file;example=/project/main.go"`
	Line      int    `json:"line,omitempty" jsonschema:"The line of the name, counted from 1." haft:"min=1;example=12"`
	Character int    `json:"character,omitempty" jsonschema:"The column of the name, counted from 1." haft:"min=1;alias=column;example=6"`
	Query     string `json:"query,omitempty" jsonschema:"Part of a name, for workspaceSymbol."`
}

// callOutput is what programs get.
type callOutput struct {
	Operation string `json:"operation"`
	FilePath  string `json:"filePath"`
	Result    string `json:"result"`      // as the model reads it
	Count     int    `json:"resultCount"` // of what was found, shown or not
	Files     int    `json:"fileCount"`
}

// Options configure the tool. A nil *Options means all zero values.
type Options struct {
	Servers *lsp.Servers
	// Show reports whether a file may be named and its lines shown; nil means any.
	Show func(path string) bool
	// Confined reports whether servers can only read; nil means that they are not
	// confined.
	Confined func() bool
}

// Tools is the tool of a session.
type Tools struct {
	opts Options

	mu    sync.Mutex
	known map[string]map[string]int // the errors of a file when they were last looked at, with how often each was there
}

// New returns the tool of a session.
func New(opts *Options) *Tools {
	t := &Tools{known: make(map[string]map[string]int)}
	if opts != nil {
		t.opts = *opts
	}
	if t.opts.Show == nil {
		t.opts.Show = func(string) bool { return true }
	}
	if t.opts.Confined == nil {
		t.opts.Confined = func() bool { return false }
	}
	return t
}

// LSP returns the tool.
func (t *Tools) LSP() tool.Tool {
	return tool.New(tool.Def[Input, callOutput]{
		Name:        "LSP",
		SearchHint:  "language server definition references hover type symbols implementations callers call hierarchy diagnostics errors code intelligence",
		Description: description,
		Marks: func(Input) tool.Marks {
			if !t.opts.Confined() {
				return tool.Marks{ConcurrencySafe: true}
			}
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure}
		},
		Validate: validate,
		Permission: func(context.Context, *tool.Call, Input) tool.Verdict {
			if t.opts.Confined() {
				return tool.Verdict{}
			}
			return tool.Verdict{Message: "the language server does not run in a sandbox and may run programs that the project names"}
		},
		Paths:     func(_ *tool.Call, in Input) tool.Paths { return tool.Paths{Reads: []string{in.FilePath}} },
		Classify:  func(in Input) string { return "ask a language server for " + in.Operation + " in " + in.FilePath },
		Run:       t.run,
		Render:    func(o callOutput) tool.Result { return tool.Text(o.Result) },
		Summarize: func(in Input) string { return in.summary() },
		SummarizeResult: func(o callOutput) string {
			first, _, _ := strings.Cut(o.Result, "\n")
			return first
		},
		Deferred: true,
	})
}

func (in Input) summary() string {
	at := filepath.Base(in.FilePath)
	if in.Line > 0 {
		at += fmt.Sprintf(":%d", in.Line)
	}
	return strings.TrimSpace(in.Operation + " " + at + " " + in.Query)
}

// placed are the operations that are about a place in the file.
var placed = strings.Fields("goToDefinition findReferences hover goToImplementation prepareCallHierarchy incomingCalls outgoingCalls")

func validate(_ context.Context, _ *tool.Call, in Input) *tool.Problem {
	if slices.Contains(placed, in.Operation) && (in.Line == 0 || in.Character == 0) {
		return &tool.Problem{Message: in.Operation + " needs line and character: give the position of the name, counted from 1."}
	}
	return nil
}

func (t *Tools) run(ctx context.Context, c *tool.Call, in Input) (callOutput, error) {
	if err := ctx.Err(); err != nil {
		return callOutput{}, err
	}
	path := in.FilePath
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // servers name files by their physical paths
	}
	client, err := t.opts.Servers.For(ctx, path, c.Dir)
	if err != nil {
		return callOutput{}, forModel(err)
	}
	q := &question{tools: t, client: client, in: in, path: path, dir: c.Dir, lines: map[string][]string{}}
	out, err := q.answer(ctx)
	if err != nil {
		return callOutput{}, forModel(fmt.Errorf("%s failed: %w", client.Name(), err))
	}
	out.Operation, out.FilePath = in.Operation, path
	return out, nil
}

// AfterEdit returns the problems that running servers find in files that were just written, as
// text for the model; "" if there are none, or if they are not known in time. Dir is where the
// agent works. It starts no server.
func (t *Tools) AfterEdit(ctx context.Context, dir string, paths []string) string {
	if t.opts.Servers == nil || !t.opts.Servers.Any() || len(paths) > maxEdited {
		return ""
	}
	deadline := time.Now().Add(editPatience)
	var texts []string
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path = filepath.Clean(path)
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		client := t.opts.Servers.Running(path, dir)
		left := time.Until(deadline)
		if client == nil || left <= 0 {
			continue
		}
		list, whole, err := client.Diagnostics(ctx, path, left)
		if err != nil || !whole { // the edit was made, and the next question says what is wrong with the server
			continue
		}
		if text := t.news(client, path, dir, list); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// news says which errors of a file were not there when it was last looked at; if it
// never was, which there are.
func (t *Tools) news(client *lsp.Client, path, dir string, list []lsp.Diagnostic) string {
	before, looked := t.remember(path, list)
	var fresh []lsp.Diagnostic
	for _, d := range list {
		if d.Severity != lsp.SeverityError {
			continue
		}
		if before[d.Message] > 0 {
			before[d.Message]--
			continue
		}
		fresh = append(fresh, d)
	}
	if len(fresh) == 0 {
		return ""
	}
	q := &question{tools: t, path: path, dir: dir, lines: map[string][]string{}}
	what := "finds these errors in"
	if looked {
		what = "finds these new errors in"
	}
	return fmt.Sprintf("%s %s %s:\n%s", client.Name(), what, q.name(path), q.findings(fresh, maxNew))
}

// maxKnown is how many files' errors are remembered.
const maxKnown = 1000

// remember keeps the errors of a file and returns those that were there before; looked
// reports whether any were looked for.
func (t *Tools) remember(path string, list []lsp.Diagnostic) (before map[string]int, looked bool) {
	now := make(map[string]int)
	for _, d := range list {
		if d.Severity == lsp.SeverityError {
			now[d.Message]++
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, looked = t.known[path]
	if len(t.known) >= maxKnown {
		clear(t.known)
	}
	t.known[path] = now
	copied := make(map[string]int, len(before))
	for message, n := range before {
		copied[message] = n
	}
	return copied, looked
}

// forModel words what went wrong so that something can be done about it.
func forModel(err error) error {
	var unknown *lsp.UnknownError
	var missing *lsp.MissingError
	var taught *tool.Error
	var path *fs.PathError
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &taught):
		return taught
	case errors.As(err, &unknown):
		return tool.Errorf("LSP cannot answer: %w. Search with other tools. The user can set up a server with lspServers in the settings.", err)
	case errors.As(err, &missing):
		return tool.Errorf("LSP cannot answer: %w. The user can install it with %s. Until then, search with other tools.", err, missing.Definition.Install)
	case errors.As(err, &path) && errors.Is(err, fs.ErrNotExist):
		return tool.Errorf("The file %s does not exist. Give the path of an existing file.", path.Path)
	}
	return tool.Errorf("LSP cannot answer: %w. Try again, or search with other tools.", err)
}

// What an edit may cost.
const (
	editPatience = 2 * time.Second // that all servers together have
	maxEdited    = 10              // files of one call
	maxNew       = 10              // errors of one file
)
