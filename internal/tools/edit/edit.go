// Package edit provides the tools Edit and MultiEdit, which replace text in a file.
//
// Trust: they change the one file they are given, through the workspace, which follows no link
// that its guard did not see, insists that the file was read, merges with changes by others,
// keeps what it replaces and writes atomically. Bytes outside the matched text never change.
// Whether the file may be changed is decided by the pipeline; the tools themselves only report
// what the guard found. What remains: they act with the rights of the process, and a user who
// saves the file in the instant between the last check and the rename loses that save (the
// content is kept as a blob if the check still saw it).
//
// Both tools are safe for concurrent use; changes of one file take turns.
package edit

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/haftdev/haft/internal/tools/filetool"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/edits"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
)

//go:embed edit.md
var description string

// Input is what the model sends to Edit.
type Input struct {
	FilePath   string `json:"file_path" jsonschema:"Absolute path of the file." haft:"path;alias=path|file|filename|filePath;min=1;example=/project/main.go"`
	OldString  string `json:"old_string" jsonschema:"The text to replace, exactly as it is in the file." haft:"alias=old_str|oldString|old_text"`
	NewString  string `json:"new_string" jsonschema:"The text to put in its place." haft:"alias=new_str|newString|new_text"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"Replace every occurrence of old_string." haft:"default=false"`
	Expected   int    `json:"expected_replacements,omitempty" jsonschema:"How often old_string occurs; all occurrences are replaced." haft:"min=1"`
	Encoding   string `json:"encoding,omitempty" jsonschema:"The encoding of the file, such as gbk, if it was misdetected." haft:"alias=charset;example=gbk"`
	OnConflict string `json:"on_conflict,omitempty" jsonschema:"After a reported conflict: overwrite keeps this edit, markers writes both sides between conflict markers." haft:"enum=overwrite|markers"`
}

// Output is what programs get from Edit.
type Output struct {
	FilePath        string       `json:"filePath"`
	OldString       string       `json:"oldString"`
	NewString       string       `json:"newString"`
	OriginalFile    string       `json:"originalFile"` // "" over 256 KB
	StructuredPatch []patch.Hunk `json:"structuredPatch"`
	UserModified    bool         `json:"userModified"`
	ReplaceAll      bool         `json:"replaceAll"`
	Replacements    int          `json:"replacements,omitempty"`
	StaleRecovered  bool         `json:"staleRecovered,omitempty"`
	ForeignPatch    []patch.Hunk `json:"foreignPatch,omitempty"`
	Notes           []string     `json:"notes,omitempty"`
}

// New returns the tool Edit for a workspace.
func New(ws *workspace.Workspace) tool.Tool {
	return tool.New(tool.Def[Input, Output]{
		Name:        "Edit",
		SearchHint:  "edit change replace modify text in a file",
		Description: description,
		Validate: func(ctx context.Context, c *tool.Call, in Input) *tool.Problem {
			return check(ctx, ws, c, in.FilePath, single(in), how{in.OnConflict, in.Encoding})
		},
		Permission: func(_ context.Context, c *tool.Call, in Input) tool.Verdict {
			return filetool.WriteView(ws, c, in.FilePath)
		},
		Paths: func(_ *tool.Call, in Input) tool.Paths { return filetool.Writes(in.FilePath) },
		Preview: func(ctx context.Context, c *tool.Call, in Input) (*tool.Preview, error) {
			return preview(ctx, ws, c, in.FilePath, single(in), how{in.OnConflict, in.Encoding})
		},
		Classify: func(in Input) string {
			return fmt.Sprintf("edit %s: replace %q with %q", in.FilePath, in.OldString, in.NewString)
		},
		Run: func(ctx context.Context, c *tool.Call, in Input) (Output, error) { return run(ctx, ws, c, in) },
		Render: func(out Output) tool.Result {
			return tool.Text(filetool.Change{Say: say(out), Hunks: out.StructuredPatch,
				Stale: out.StaleRecovered, Foreign: out.ForeignPatch, Notes: out.Notes}.Text())
		},
		Summarize:       func(in Input) string { return filetool.Base(in.FilePath) },
		SummarizeResult: func(out Output) string { return counts(out.StructuredPatch) },
		OnInterrupt:     tool.InterruptBlock, // it is short, and half an answer would not say what happened
	})
}

func single(in Input) []edits.Edit {
	return []edits.Edit{{Old: in.OldString, New: in.NewString, All: in.ReplaceAll, Expect: in.Expected}}
}

func run(ctx context.Context, ws *workspace.Workspace, c *tool.Call, in Input) (Output, error) {
	made, o, err := revise(ctx, ws, c, in.FilePath, single(in), how{in.OnConflict, in.Encoding})
	if err != nil {
		return Output{}, filetool.Error(err)
	}
	return Output{
		FilePath: o.Spelled, OldString: in.OldString, NewString: in.NewString, ReplaceAll: in.ReplaceAll,
		OriginalFile: filetool.Original(o.Before), StructuredPatch: filetool.Hunks(o.Hunks), Replacements: made[0],
		StaleRecovered: o.Stale, ForeignPatch: filetool.Hunks(o.Foreign), Notes: o.Notes,
	}, nil
}

func say(out Output) string {
	switch {
	case out.OriginalFile == "" && out.OldString == "":
		return "File created: " + out.FilePath
	case out.Replacements > 1:
		return fmt.Sprintf("%s has been updated in %d places.", out.FilePath, out.Replacements)
	}
	return out.FilePath + " has been updated."
}

// how is what a call says besides its edits.
type how struct{ onConflict, encoding string }

// revision is what a list of edits means for a file, and where the number of replacements goes.
func revision(c *tool.Call, facts guard.Facts, list []edits.Edit, h how, counts *[]int) workspace.Revision {
	create := len(list) == 1 && list[0].Old == "" && list[0].New != ""
	return workspace.Revision{
		Agent: c.Agent, Path: facts, Create: create, OnConflict: workspace.Choice(h.onConflict), Encoding: filetool.Encoding(h.encoding),
		Make: func(t *textfile.Text) ([]byte, []string, error) {
			if t == nil {
				*counts = []int{1}
				return []byte(list[0].New), nil, nil
			}
			if len(t.Bytes()) == 0 {
				return nil, nil, tool.Errorf("%s is empty, so there is nothing to replace. Use Write to give it content.", facts.Path)
			}
			r, err := edits.Apply(t, list)
			if err != nil {
				return nil, nil, fmt.Errorf("%s was not changed. %w", facts.Path, err)
			}
			*counts = r.Counts
			return r.Raw, r.Notes, nil
		},
	}
}

// check refuses, before the user is asked, what would be refused afterwards.
func check(ctx context.Context, ws *workspace.Workspace, c *tool.Call, path string, list []edits.Edit, h how) *tool.Problem {
	facts := ws.Look(path)
	if p := filetool.Problem(ws.CheckPath(facts, "file_path")); p != nil {
		return p
	}
	if p := filetool.Problem(filetool.CheckEncoding(h.encoding)); p != nil {
		return p
	}
	var counts []int
	return filetool.Check(ctx, ws, c, revision(c, facts, list, h, &counts))
}

func preview(ctx context.Context, ws *workspace.Workspace, c *tool.Call, path string, list []edits.Edit, h how) (*tool.Preview, error) {
	facts, err := filetool.Look(ws, c, path, "file_path")
	if err != nil {
		return nil, filetool.Error(err)
	}
	var counts []int
	return filetool.Preview(ctx, ws, revision(c, facts, list, h, &counts))
}

func revise(ctx context.Context, ws *workspace.Workspace, c *tool.Call, path string, list []edits.Edit, h how) ([]int, *workspace.Outcome, error) {
	facts, err := filetool.Look(ws, c, path, "file_path")
	if err != nil {
		return nil, nil, err
	}
	var counts []int
	o, err := filetool.Revise(ctx, ws, c, revision(c, facts, list, h, &counts))
	return counts, o, err
}

// counts summarises a patch in a line.
func counts(hunks []patch.Hunk) string {
	added, removed := 0, 0
	for _, h := range hunks {
		for _, l := range h.Lines {
			switch l[0] {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	return fmt.Sprintf("+%d -%d lines", added, removed)
}
