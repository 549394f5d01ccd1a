// Package write provides the Write tool, which replaces the whole content of a file.
//
// Trust: it writes the one file it is given and creates the directories above it, through the
// workspace, which follows no link that its guard did not see, insists that an existing file
// was read, keeps what it replaces and writes atomically. Whether the file may be written is
// decided by the pipeline, before anything is created; the tool itself only reports what the
// guard found. What remains: it acts with the rights of the process.
//
// The tool is safe for concurrent use; changes of one file take turns.
package write

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/tools/filetool"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
)

//go:embed write.md
var description string

// callInput is what the model sends.
type callInput struct {
	FilePath   string `json:"file_path" jsonschema:"Absolute path of the file." haft:"path;alias=path|file|filename|filePath;min=1;example=/project/notes.md"`
	Content    string `json:"content" jsonschema:"The whole content of the file." haft:"alias=contents|text|file_text"`
	Encoding   string `json:"encoding,omitempty" jsonschema:"The file's encoding. A new file is UTF-8, unless its content or .editorconfig names another." haft:"alias=charset;example=gbk"`
	OnConflict string `json:"on_conflict,omitempty" jsonschema:"After a reported conflict: overwrite keeps this content, markers writes both sides between conflict markers." haft:"enum=overwrite|markers"`
}

// callOutput is what programs get.
type callOutput struct {
	Type            string       `json:"type" haft:"enum=create|update"`
	FilePath        string       `json:"filePath"`
	Content         string       `json:"content"`
	StructuredPatch []patch.Hunk `json:"structuredPatch"`
	OriginalFile    *string      `json:"originalFile,omitempty"` // absent for a new file, "" over 256 KB
	UserModified    bool         `json:"userModified"`
	StaleRecovered  bool         `json:"staleRecovered,omitempty"`
	ForeignPatch    []patch.Hunk `json:"foreignPatch,omitempty"`
	Notes           []string     `json:"notes,omitempty"`
}

// New returns the tool for a workspace.
func New(ws *workspace.Workspace) tool.Tool {
	return tool.New(tool.Def[callInput, callOutput]{
		Name:        "Write",
		SearchHint:  "write create save new file content overwrite",
		Description: description,
		Marks: func(callInput) tool.Marks {
			return tool.Marks{Effect: tool.Idempotent}
		},
		Validate: func(ctx context.Context, c *tool.Call, in callInput) *tool.Problem {
			facts := ws.Look(in.FilePath)
			if p := filetool.Problem(ws.CheckPath(facts, "file_path")); p != nil {
				return p
			}
			if p := filetool.Problem(filetool.CheckEncoding(in.Encoding)); p != nil {
				return p
			}
			return filetool.Check(ctx, ws, c, revision(c, facts, in))
		},
		Permission: func(_ context.Context, c *tool.Call, in callInput) tool.Verdict {
			return filetool.WriteView(ws, c, in.FilePath)
		},
		Paths: func(_ *tool.Call, in callInput) tool.Paths { return filetool.Writes(in.FilePath) },
		Preview: func(ctx context.Context, c *tool.Call, in callInput) (*tool.Preview, error) {
			facts, err := filetool.Look(ws, c, in.FilePath, "file_path")
			if err != nil {
				return nil, filetool.Error(err)
			}
			return filetool.Preview(ctx, ws, revision(c, facts, in))
		},
		Classify:  func(in callInput) string { return fmt.Sprintf("write %s: %q", in.FilePath, in.Content) },
		Run:       func(ctx context.Context, c *tool.Call, in callInput) (callOutput, error) { return run(ctx, ws, c, in) },
		Render:    render,
		Summarize: func(in callInput) string { return filetool.Base(in.FilePath) },
		SummarizeResult: func(out callOutput) string {
			return out.Type + ", " + plural.Of(strings.Count(out.Content, "\n"), "line")
		},
		OnInterrupt: tool.InterruptBlock, // it is short, and half an answer would not say what happened
	})
}

// revision is what a content means for a file.
func revision(c *tool.Call, facts guard.Facts, in callInput) workspace.Revision {
	return workspace.Revision{
		Agent: c.Agent, Path: facts, Create: true, Whole: true, OnConflict: workspace.Choice(in.OnConflict), Encoding: filetool.Encoding(in.Encoding),
		Make: func(t *textfile.Text) ([]byte, []string, error) {
			if t == nil {
				return []byte(in.Content), nil, nil
			}
			raw, err := t.Rewrite(in.Content)
			return raw, nil, err
		},
	}
}

func run(ctx context.Context, ws *workspace.Workspace, c *tool.Call, in callInput) (callOutput, error) {
	facts, err := filetool.Look(ws, c, in.FilePath, "file_path")
	if err != nil {
		return callOutput{}, filetool.Error(err)
	}
	o, err := filetool.Revise(ctx, ws, c, revision(c, facts, in))
	if err != nil {
		return callOutput{}, filetool.Error(err)
	}
	out := callOutput{Type: "create", FilePath: facts.Path, Content: in.Content, StructuredPatch: []patch.Hunk{},
		StaleRecovered: o.Stale, ForeignPatch: filetool.Hunks(o.Foreign), Notes: o.Notes}
	if o.Before != nil {
		before := filetool.Original(o.Before)
		out.Type, out.OriginalFile, out.StructuredPatch = "update", &before, filetool.Hunks(o.Hunks)
	}
	return out, nil
}

func render(out callOutput) tool.Result {
	say := out.FilePath + " has been updated."
	switch {
	case out.Type == "create":
		say = "File created: " + out.FilePath
	case len(out.StructuredPatch) == 0:
		say = out.FilePath + " already has this content; nothing was written."
	}
	return tool.Text(filetool.Change{Say: say, Hunks: out.StructuredPatch,
		Stale: out.StaleRecovered, Foreign: out.ForeignPatch, Notes: out.Notes, Whole: true}.Text())
}
