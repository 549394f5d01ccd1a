// Package toolsearch provides the ToolSearch tool, which finds deferred tools. The model knows
// these by name only, so that a session with hundreds of tools does not pay for their
// descriptions.
//
// Trust: it reads the names and descriptions of the session's tools and touches
// nothing. Descriptions of foreign tools are written by their servers; what it
// shows of them is no more than the model sees once the tool is described.
package toolsearch

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/tool"
)

//go:embed toolsearch.md
var description string

// callInput is what the model sends.
type callInput struct {
	Query      string `json:"query" jsonschema:"Words to look for, or select:NAME,NAME." haft:"min=1;max=500;example=select:Sleep"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"Maximum number of tools to return." haft:"clamp;min=1;max=25;default=5"`
}

// Output is what programs get.
type Output struct {
	Matches  []string `json:"matches"`
	Query    string   `json:"query"`
	Deferred int      `json:"total_deferred_tools"`

	loads   bool     // a reference to a match loads it
	words   []string // about each match, for a model that loads none
	loaded  []string // tools of every request, which need no search
	unknown []string // a line about each name that select: asked for in vain
}

// New returns the tool.
func New() tool.Tool {
	return tool.New(tool.Def[callInput, Output]{
		Name:        tool.SearchName,
		SearchHint:  "find discover load deferred tools",
		Description: description,
		Marks: func(callInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure}
		},
		Permission: func(context.Context, *tool.Call, callInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "finding a tool does not run it"}
		},
		Run:       run,
		Render:    render,
		Summarize: func(in callInput) string { return in.Query },
	})
}

func run(_ context.Context, c *tool.Call, in callInput) (Output, error) {
	if c.Tools == nil {
		return Output{}, tool.Errorf("There are no tools to search in this session.")
	}
	deferred := c.Tools.Deferred()
	out := Output{Matches: []string{}, Query: in.Query, Deferred: len(deferred), loads: c.Tools.References()}
	var found []*tool.Tool
	if names, ok := strings.CutPrefix(in.Query, "select:"); ok {
		found, out.unknown = pick(c.Tools, names)
	} else {
		found = rank(append(deferred, c.Tools.Found()...), c.Session, in.Query) // who looks for a loaded one should find it, not its neighbour
		most := in.MaxResults
		if most == 0 {
			most = 5
		}
		found = found[:min(most, len(found))]
	}
	if len(found) == 0 && len(out.unknown) == 0 {
		out.loaded = loaded(c, in.Query)
	}
	found = slices.DeleteFunc(found, func(t *tool.Tool) bool {
		always := c.Tools.Described(t.Name) && !slices.Contains(c.Tools.Found(), t)
		if always {
			out.loaded = append(out.loaded, t.Name)
		}
		return always
	})
	for _, t := range found {
		out.Matches = append(out.Matches, t.Name)
		if !out.loads {
			out.words = append(out.words, describe(c.Tools, t))
		}
	}
	return out, nil
}

// pick returns the named tools, and for each name that is not there what may be meant.
func pick(tools *tool.Set, names string) (found []*tool.Tool, unknown []string) {
	all := tools.Session().Tools
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		t := tools.Lookup(name)
		switch {
		case name == "", t != nil && slices.Contains(found, t):
		case t != nil:
			found = append(found, t)
		default:
			unknown = append(unknown, fmt.Sprintf("There is no tool named %q.%s", name, near.Hint(name, all)))
		}
	}
	return found, unknown
}

// loaded are the tools of every request that match a query best.
func loaded(c *tool.Call, query string) (names []string) {
	described := slices.DeleteFunc(slices.Clone(c.Tools.All()), func(t *tool.Tool) bool { return !c.Tools.Described(t.Name) || t.Name == tool.SearchName })
	for _, t := range rank(described, c.Session, query) {
		names = append(names, t.Name)
	}
	return names[:min(3, len(names))]
}

// describe says what a model needs to call a tool that its request does not describe.
func describe(tools *tool.Set, t *tool.Tool) string {
	return t.Name + ": " + strings.TrimSpace(tools.Description(t)) + "\n" + tools.Hint(t)
}

// render refers to what was found. An API that loads tools by reference takes nothing
// else beside references in a result: all else comes after it.
func render(out Output) tool.Result {
	var said []string
	switch {
	case len(out.Matches) > 0:
		if len(out.words) > 0 {
			said = append(said, "You can use these tools now.\n\n"+strings.Join(out.words, "\n\n"))
		}
	case len(out.unknown)+len(out.loaded) == 0:
		said = append(said, fmt.Sprintf("None of the %d deferred tools matches %q: try other words, or select:NAME.", out.Deferred, out.Query))
	}
	if len(out.loaded) > 0 {
		said = append(said, fmt.Sprintf("Already loaded, so that you can call them without a search: %s.", strings.Join(out.loaded, ", ")))
	}
	if len(out.unknown) > 0 {
		said = append(said, strings.Join(out.unknown, "\n"))
	}
	text := strings.Join(said, "\n\n")
	if len(out.Matches) == 0 {
		return tool.Text(text)
	}
	r := tool.Result{Change: &tool.Change{Reveal: out.Matches}}
	if !out.loads {
		r.Content = tool.Text(text).Content
		return r
	}
	for _, name := range out.Matches {
		r.Content = append(r.Content, tool.Block{Type: tool.ReferenceBlock, Text: name})
	}
	if text != "" {
		r.Messages = []tool.Message{{Content: tool.Text(text).Content}}
	}
	return r
}
