// Package grep provides the Grep tool, which searches the contents of files.
//
// Trust: it reads files with the rights of this process, below any path the model names,
// follows no symbolic links below that path, and writes nothing. Which files may be read is
// decided by Options.Allow, asked for each file before it is opened; one that is refused is
// neither searched nor named. Ignore files are written by the authors of the tree and can hide
// files from a search; the result counts what they hid. Contents of files go to the model
// unchanged.
package grep

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/tools/scope"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/search/filetype"
	"github.com/haftdev/haft/internal/world/search/rx"
	"github.com/haftdev/haft/tool"
)

//go:embed grep.md
var description string

// callInput is what the model sends.
type callInput struct {
	Pattern      string `json:"pattern" jsonschema:"The regular expression to look for, in ripgrep's syntax." haft:"min=1;alias=regex|query;example=func\\s+Test\\w+"`
	Path         string `json:"path,omitempty" jsonschema:"File or directory to search. Default: the working directory."`
	Glob         string `json:"glob,omitempty" jsonschema:"Only files that match, such as *.js or **/*.{ts,tsx}; ! excludes; separate several with spaces." haft:"alias=include"`
	Type         string `json:"type,omitempty" jsonschema:"Only files of this type, such as go, py, rust, js."`
	OutputMode   string `json:"output_mode,omitempty" jsonschema:"What to show: content (lines), files_with_matches (paths) or count (lines per file)." haft:"enum=content|files_with_matches|count;default=files_with_matches"`
	After        int    `json:"-A,omitempty" jsonschema:"Lines to show after each match, in content mode." haft:"min=0;max=1000"`
	Before       int    `json:"-B,omitempty" jsonschema:"Lines to show before each match, in content mode." haft:"min=0;max=1000"`
	Around       int    `json:"-C,omitempty" jsonschema:"Lines to show before and after each match, in content mode." haft:"min=0;max=1000"`
	Context      int    `json:"context,omitempty" jsonschema:"The same as -C." haft:"min=0;max=1000"`
	LineNumbers  *bool  `json:"-n,omitempty" jsonschema:"Show line numbers, in content mode." haft:"default=true"`
	IgnoreCase   bool   `json:"-i,omitempty" jsonschema:"Ignore case."`
	OnlyMatching bool   `json:"-o,omitempty" jsonschema:"Show only the matching parts of lines, in content mode."`
	Multiline    bool   `json:"multiline,omitempty" jsonschema:"Let matches span lines and . match line breaks."`
	HeadLimit    *int   `json:"head_limit,omitempty" jsonschema:"Show at most this many lines or files; 0 means all." haft:"min=0;default=250"`
	Offset       int    `json:"offset,omitempty" jsonschema:"Skip this many lines or files first." haft:"min=0"`
}

// Options are what the tool needs from its environment.
type Options = scope.Options

const defaultLimit = 250

// New returns the tool. o may be nil.
func New(o *Options) tool.Tool {
	g := &grep{opts: o.OrDefault()}
	return tool.New(tool.Def[callInput, callOutput]{
		Name:        "Grep",
		SearchHint:  "search file contents regular expression ripgrep find text code",
		Description: description,
		Marks: func(callInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure}
		},
		Paths:           func(_ *tool.Call, in callInput) tool.Paths { return scope.Reads(in.Path) },
		Classify:        func(in callInput) string { return "search for " + in.Pattern + " in " + in.Path },
		Run:             g.run,
		Render:          render,
		Summarize:       summarize,
		SummarizeResult: summarizeResult,
	})
}

type grep struct{ opts Options }

func (g *grep) run(ctx context.Context, c *tool.Call, in callInput) (callOutput, error) {
	at := g.opts.Contents(c, in.Path)
	q := in.query(at)
	r, err := g.opts.Searcher.Grep(ctx, q)
	if err != nil {
		return callOutput{}, forModel(at, err)
	}
	return output(at, in, r), nil
}

// query is the input as package search takes it.
func (in callInput) query(at scope.Scope) search.Query {
	around := max(in.Around, in.Context)
	q := search.Query{
		Pattern: in.Pattern, Dir: at.Dir, Path: at.Path, Allow: at.Allow, Globs: splitGlobs(in.Glob),
		IgnoreCase: in.IgnoreCase, Multiline: in.Multiline, OnlyMatching: in.OnlyMatching,
		Before: max(in.Before, around), After: max(in.After, around),
	}
	if in.Type != "" {
		q.Types = []string{in.Type}
	}
	switch in.OutputMode {
	case "content":
		q.Mode = search.Content
	case "count":
		q.Mode = search.Count
	}
	if limit := in.limit(); limit > 0 {
		q.Limit = in.Offset + limit + 1 // one more tells whether there are more
	}
	return q
}

func (in callInput) limit() int {
	if in.HeadLimit == nil {
		return defaultLimit
	}
	return *in.HeadLimit
}

// splitGlobs separates globs at spaces, and at commas outside braces.
func splitGlobs(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			return depth == 0
		}
		return r == ' ' || r == '\t' || r == '\n'
	})
}

// forModel words what the model can fix; anything else ends the turn.
func forModel(at scope.Scope, err error) error {
	var syntax *rx.SyntaxError
	var unknown *filetype.UnknownError
	var glob *search.GlobError
	switch {
	case errors.As(err, &syntax), errors.As(err, &unknown), errors.Is(err, rx.ErrTooLarge):
		return &tool.Error{Message: scope.Sentence(err.Error()), Err: err}
	case errors.As(err, &glob):
		return tool.Errorf("The glob %s is not valid: its braces do not match, or expand to too many alternatives.", glob.Glob)
	}
	return at.Error(err)
}

func summarize(in callInput) string {
	s := in.Pattern
	if in.Path != "" {
		s += " in " + in.Path
	}
	if in.Glob != "" {
		s += " (" + in.Glob + ")"
	}
	return s
}

func summarizeResult(out callOutput) string {
	switch out.Mode {
	case "content":
		return plural.Of(value(out.NumLines), "line")
	case "count":
		return plural.Of(value(out.NumMatches), "match") + " in " + plural.Of(out.NumFiles, "file")
	}
	return plural.Of(out.NumFiles, "file")
}
