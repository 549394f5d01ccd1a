// Package notebook provides the NotebookEdit tool, which changes one cell of a Jupyter
// notebook.
//
// Trust: as package edit; it changes the one file it is given, through the workspace, and only the bytes of the cell. The
// notebook is untrusted JSON: it is checked to be valid before it is taken apart, and its size is bounded by the workspace.
// Nothing in it is run.
//
// The tool is safe for concurrent use; changes of one file take turns.
package notebook

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/tools/filetool"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
)

//go:embed notebook.md
var description string

// callInput is what the model sends.
type callInput struct {
	NotebookPath string `json:"notebook_path" jsonschema:"Absolute path of the notebook." haft:"path;alias=file_path|path;min=1;example=/project/analysis.ipynb"`
	NewSource    string `json:"new_source" jsonschema:"The new source of the cell; empty to delete it."`
	CellID       string `json:"cell_id,omitempty" jsonschema:"The id of the cell. For insert, the new cell comes after this one, or first if no id is given." haft:"example=3f2a9c01"`
	CellType     string `json:"cell_type,omitempty" jsonschema:"Type of the cell. Required for insert; without it, replace keeps the type." haft:"enum=code|markdown"`
	EditMode     string `json:"edit_mode,omitempty" jsonschema:"What to do." haft:"enum=replace|insert|delete;default=replace"`
	OnConflict   string `json:"on_conflict,omitempty" jsonschema:"After a reported conflict: overwrite keeps this edit." haft:"enum=overwrite"`
}

// callOutput is what programs get.
type callOutput struct {
	NewSource    string       `json:"new_source"`
	OldSource    string       `json:"old_source,omitempty"`
	CellID       string       `json:"cell_id"`
	CellType     string       `json:"cell_type"`
	Language     string       `json:"language"`
	EditMode     string       `json:"edit_mode"`
	NotebookPath string       `json:"notebook_path"`
	OriginalFile string       `json:"original_file"` // "" over 256 KB, as is updated_file
	UpdatedFile  string       `json:"updated_file"`
	Patch        []patch.Hunk `json:"structuredPatch"`
	Stale        bool         `json:"staleRecovered,omitempty"`
	Foreign      []patch.Hunk `json:"foreignPatch,omitempty"`
}

// New returns the tool for a workspace.
func New(ws *workspace.Workspace) tool.Tool {
	return tool.New(tool.Def[callInput, callOutput]{
		Name:        "NotebookEdit",
		SearchHint:  "jupyter notebook ipynb cell edit insert delete replace",
		Description: description,
		Validate: func(ctx context.Context, c *tool.Call, in callInput) *tool.Problem {
			facts := ws.Look(in.NotebookPath)
			err := ws.CheckPath(facts, "notebook_path")
			if err == nil {
				err = check(in)
			}
			if err != nil {
				return filetool.Problem(err)
			}
			var made cellEdit
			return filetool.Check(ctx, ws, c, revision(c, facts, in, &made))
		},
		Permission: func(_ context.Context, c *tool.Call, in callInput) tool.Verdict {
			return filetool.WriteView(ws, c, in.NotebookPath)
		},
		Paths: func(_ *tool.Call, in callInput) tool.Paths { return filetool.Writes(in.NotebookPath) },
		Preview: func(ctx context.Context, c *tool.Call, in callInput) (*tool.Preview, error) {
			facts, err := filetool.Look(ws, c, in.NotebookPath, "notebook_path")
			if err == nil {
				err = check(in)
			}
			if err != nil {
				return nil, filetool.Error(err)
			}
			var made cellEdit
			return filetool.Preview(ctx, ws, revision(c, facts, in, &made))
		},
		Classify: func(in callInput) string {
			return mode(in) + " cell " + in.CellID + " of " + in.NotebookPath + ": " + in.NewSource
		},
		Run:             func(ctx context.Context, c *tool.Call, in callInput) (callOutput, error) { return run(ctx, ws, c, in) },
		Render:          render,
		Summarize:       func(in callInput) string { return filetool.Base(in.NotebookPath) + ", " + mode(in) + " " + in.CellID },
		SummarizeResult: func(out callOutput) string { return out.EditMode + " " + out.CellID },
		OnInterrupt:     tool.InterruptBlock, // it is short, and half an answer would not say what happened
		Deferred:        true,
	})
}

func mode(in callInput) string {
	if in.EditMode == "" {
		return "replace"
	}
	return in.EditMode
}

// check refuses what makes no sense whatever the notebook holds.
func check(in callInput) error {
	switch {
	case !strings.EqualFold(filepath.Ext(in.NotebookPath), ".ipynb"):
		return tool.Errorf("NotebookEdit only changes Jupyter notebooks (.ipynb). Use Edit for other files.")
	case in.CellID == "" && mode(in) != "insert":
		return tool.Errorf("cell_id is missing. Use the id that Read shows.")
	case mode(in) == "insert" && in.CellType == "":
		return tool.Errorf("cell_type is missing: insert needs code or markdown.")
	}
	return nil
}

// revision is what an edit of a cell means for the file, and where what was found out about the cell goes.
func revision(c *tool.Call, facts guard.Facts, in callInput, made *cellEdit) workspace.Revision {
	return workspace.Revision{
		Agent: c.Agent, Path: facts, OnConflict: workspace.Choice(in.OnConflict),
		Make: func(t *textfile.Text) ([]byte, []string, error) {
			nb, err := parse(t.Bytes())
			if err != nil {
				return nil, nil, tool.Errorf("%s was not changed. It is not a Jupyter notebook of format 4: %v. Fix or convert the file first.", facts.Path, err)
			}
			e, err := nb.edit(in, nb.newID(c, in))
			if err != nil {
				return nil, nil, tool.Errorf("%s was not changed. %v", facts.Path, err)
			}
			*made = e
			for i, s := range e.splices {
				e.splices[i].New = textfile.WithEndings(s.New, t.EndingAt(s.Start))
			}
			raw, err := t.Splice(e.splices)
			return raw, nil, err
		},
		Check: func(t *textfile.Text) error { _, err := parse(t.Bytes()); return err },
	}
}

func run(ctx context.Context, ws *workspace.Workspace, c *tool.Call, in callInput) (callOutput, error) {
	facts, err := filetool.Look(ws, c, in.NotebookPath, "notebook_path")
	if err == nil {
		err = check(in)
	}
	if err != nil {
		return callOutput{}, filetool.Error(err)
	}
	var made cellEdit
	o, err := filetool.Revise(ctx, ws, c, revision(c, facts, in, &made))
	if err != nil {
		return callOutput{}, filetool.Error(err)
	}
	return callOutput{
		NewSource: in.NewSource, OldSource: made.oldSource, CellID: made.id, CellType: made.cellType, Language: made.language,
		EditMode: mode(in), NotebookPath: facts.Path, OriginalFile: filetool.Original(o.Before), UpdatedFile: filetool.Original(o.After),
		Patch: filetool.Hunks(o.Hunks), Stale: o.Stale, Foreign: filetool.Hunks(o.Foreign),
	}, nil
}

// render shows the model the cell as it is now: the rest of the file, outputs and all, is not what it changed.
func render(out callOutput) tool.Result {
	say := map[string]string{"replace": "Updated", "insert": "Inserted", "delete": "Deleted"}[out.EditMode] + " cell " + out.CellID + " of " + out.NotebookPath + "."
	switch {
	case len(out.Patch) == 0:
		say = "Cell " + out.CellID + " already has this source; nothing was written."
	case out.EditMode != "delete":
		say += fmt.Sprintf(" It is now (%s):\n%s", out.CellType, bounded(out.NewSource))
	}
	return tool.Text(filetool.Change{Say: say, Stale: out.Stale, Foreign: out.Foreign}.Text())
}

// bounded is the beginning of a source that the model has sent itself.
func bounded(source string) string {
	const most = 20
	lines := strings.SplitAfterN(source, "\n", most+1)
	if len(lines) <= most {
		return source
	}
	return strings.Join(lines[:most], "") + fmt.Sprintf("… [%s]", plural.Of(1+strings.Count(lines[most], "\n"), "more line"))
}
