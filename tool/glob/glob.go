// Package glob provides the Glob tool, which finds files by name.
//
// Trust: it lists directories with the rights of this process, below any path the
// model names, follows no symbolic links below that path, opens no files but ignore
// files, and writes nothing. Options.Allow decides which files may be named. Ignore
// files are written by the authors of the tree and can hide files; the result counts
// what they hid.
package glob

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/search"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/internal/scope"
)

//go:embed glob.md
var description string

// Input is what the model sends.
type Input struct {
	Pattern string `json:"pattern" jsonschema:"The glob pattern." haft:"min=1;example=**/*.go"`
	Path    string `json:"path,omitempty" jsonschema:"Directory to look in. Default: the working directory."`
}

// Output is what programs get.
type Output struct {
	Filenames       []string `json:"filenames"`
	DurationMS      int64    `json:"durationMs"`
	NumFiles        int      `json:"numFiles"`
	Truncated       bool     `json:"truncated"`
	TotalMatches    int      `json:"totalMatches"`
	CountIsComplete bool     `json:"countIsComplete"`
	// Note says what was looked at and what was left out, when that matters.
	Note string `json:"note,omitempty"`
}

// Options are what the tool needs from its environment.
type Options = scope.Options

// limit is how many files are named.
const limit = 100

// New returns the tool. o may be nil.
func New(o *Options) tool.Tool {
	g := &glob{opts: o.OrDefault()}
	return tool.New(tool.Def[Input, Output]{
		Name:        "Glob",
		SearchHint:  "find files by name pattern list directory",
		Description: description,
		Marks: func(Input) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure}
		},
		Paths:    func(_ *tool.Call, in Input) tool.Paths { return scope.Reads(in.Path) },
		Classify: func(in Input) string { return "find files named " + in.Pattern + " in " + in.Path },
		Run:      g.run,
		Render:   render,
		Summarize: func(in Input) string {
			if in.Path == "" {
				return in.Pattern
			}
			return in.Pattern + " in " + in.Path
		},
		SummarizeResult: func(out Output) string { return plural.Of(out.TotalMatches, "file") },
	})
}

type glob struct{ opts Options }

func (g *glob) run(ctx context.Context, c *tool.Call, in Input) (Output, error) {
	began := time.Now()
	at := g.opts.At(c, in.Path)
	r, err := g.opts.Searcher.Glob(ctx, search.GlobQuery{
		Pattern: in.Pattern, Dir: at.Dir, Path: at.Path, Limit: limit, Allow: at.Allow,
	})
	if bad := (*search.GlobError)(nil); errors.As(err, &bad) {
		return Output{}, tool.Errorf("The pattern %s is not valid: its braces do not match, or expand to too many alternatives.", bad.Glob)
	}
	if out := (*search.OutsideError)(nil); errors.As(err, &out) {
		return Output{}, tool.Errorf("The pattern %s leads out of %s. Set path to %s and give a pattern relative to it.", out.Pattern, out.Path, out.Dir)
	}
	if err != nil {
		return Output{}, at.Error(err)
	}
	out := Output{
		Filenames: []string{}, DurationMS: time.Since(began).Milliseconds(), NumFiles: len(r.Files),
		Truncated: r.Total > len(r.Files), TotalMatches: r.Total, CountIsComplete: r.Partial == "",
		Note: at.Note(r.Total, r.Stats, r.Partial),
	}
	for _, f := range r.Files {
		out.Filenames = append(out.Filenames, at.Show(f))
	}
	return out, nil
}

// render is the output as the model reads it.
func render(o Output) tool.Result {
	var b strings.Builder
	if o.NumFiles == 0 {
		b.WriteString("No files found.")
	} else {
		b.WriteString(strings.Join(o.Filenames, "\n"))
	}
	if o.Truncated {
		atLeast := ""
		if !o.CountIsComplete {
			atLeast = "at least "
		}
		fmt.Fprintf(&b, "\n\n[These are the newest %d of %s%d files. Use a narrower pattern or path for the others.]", o.NumFiles, atLeast, o.TotalMatches)
	}
	if o.Note != "" {
		b.WriteString("\n\n[" + o.Note + "]")
	}
	return tool.Text(b.String())
}
