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

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/tools/scope"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/tool"
)

//go:embed glob.md
var description string

// callInput is what the model sends.
type callInput struct {
	Pattern string `json:"pattern" jsonschema:"The glob pattern." haft:"min=1;example=**/*.go"`
	Path    string `json:"path,omitempty" jsonschema:"Directory to look in. Default: the working directory."`
}

// callOutput is what programs get.
type callOutput struct {
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
	return tool.New(tool.Def[callInput, callOutput]{
		Name:        "Glob",
		SearchHint:  "find files by name pattern list directory",
		Description: description,
		Marks: func(callInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure}
		},
		Paths:    func(_ *tool.Call, in callInput) tool.Paths { return scope.Reads(in.Path) },
		Classify: func(in callInput) string { return "find files named " + in.Pattern + " in " + in.Path },
		Run:      g.run,
		Render:   render,
		Summarize: func(in callInput) string {
			if in.Path == "" {
				return in.Pattern
			}
			return in.Pattern + " in " + in.Path
		},
		SummarizeResult: func(out callOutput) string { return plural.Of(out.TotalMatches, "file") },
	})
}

type glob struct{ opts Options }

func (g *glob) run(ctx context.Context, c *tool.Call, in callInput) (callOutput, error) {
	began := time.Now()
	at := g.opts.At(c, in.Path)
	r, err := g.opts.Searcher.Glob(ctx, search.GlobQuery{
		Pattern: in.Pattern, Dir: at.Dir, Path: at.Path, Limit: limit, Allow: at.Allow,
	})
	if bad := (*search.GlobError)(nil); errors.As(err, &bad) {
		return callOutput{}, tool.Errorf("The pattern %s is not valid: its braces do not match, or expand to too many alternatives.", bad.Glob)
	}
	if out := (*search.OutsideError)(nil); errors.As(err, &out) {
		return callOutput{}, tool.Errorf("The pattern %s leads out of %s. Set path to %s and give a pattern relative to it.", out.Pattern, out.Path, out.Dir)
	}
	if err != nil {
		return callOutput{}, at.Error(err)
	}
	out := callOutput{
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
func render(o callOutput) tool.Result {
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
