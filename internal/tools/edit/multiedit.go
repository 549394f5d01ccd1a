package edit

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/tools/filetool"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/edits"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/tool"
)

//go:embed multiedit.md
var multiDescription string

// MultiInput is what the model sends to MultiEdit.
type MultiInput struct {
	FilePath   string    `json:"file_path" jsonschema:"Absolute path of the file." haft:"path;alias=path|file|filename|filePath;min=1;example=/project/main.go"`
	Edits      []OneEdit `json:"edits" jsonschema:"The replacements, in order." haft:"min=1;max=500"`
	Encoding   string    `json:"encoding,omitempty" jsonschema:"The encoding of the file, such as gbk, if it was misdetected." haft:"alias=charset;example=gbk"`
	OnConflict string    `json:"on_conflict,omitempty" jsonschema:"After a reported conflict: overwrite keeps these edits, markers writes both sides between conflict markers." haft:"enum=overwrite|markers"`
}

// OneEdit is one replacement of a MultiEdit.
type OneEdit struct {
	OldString  string `json:"old_string" jsonschema:"The text to replace, exactly as it is in the file." haft:"alias=old_str|oldString|old_text"`
	NewString  string `json:"new_string" jsonschema:"The text to put in its place." haft:"alias=new_str|newString|new_text"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"Replace every occurrence of old_string." haft:"default=false"`
	Expected   int    `json:"expected_replacements,omitempty" jsonschema:"How often old_string occurs; all occurrences are replaced." haft:"min=1"`
}

// MultiOutput is what programs get from MultiEdit.
type MultiOutput struct {
	FilePath        string       `json:"filePath"`
	Edits           []OneEdit    `json:"edits"`
	OriginalFile    string       `json:"originalFile"` // "" over 256 KB
	StructuredPatch []patch.Hunk `json:"structuredPatch"`
	UserModified    bool         `json:"userModified"`
	Replacements    []int        `json:"replacements"` // by each edit
	StaleRecovered  bool         `json:"staleRecovered,omitempty"`
	ForeignPatch    []patch.Hunk `json:"foreignPatch,omitempty"`
	Notes           []string     `json:"notes,omitempty"`
}

// NewMulti returns the tool MultiEdit for a workspace.
func NewMulti(ws *workspace.Workspace) tool.Tool {
	return tool.New(tool.Def[MultiInput, MultiOutput]{
		Name:        "MultiEdit",
		SearchHint:  "several edits of one file at once replace change",
		Description: multiDescription,
		Validate: func(ctx context.Context, c *tool.Call, in MultiInput) *tool.Problem {
			return check(ctx, ws, c, in.FilePath, several(in), how{in.OnConflict, in.Encoding})
		},
		Permission: func(_ context.Context, c *tool.Call, in MultiInput) tool.Verdict {
			return filetool.WriteView(ws, c, in.FilePath)
		},
		Paths: func(_ *tool.Call, in MultiInput) tool.Paths { return filetool.Writes(in.FilePath) },
		Preview: func(ctx context.Context, c *tool.Call, in MultiInput) (*tool.Preview, error) {
			return preview(ctx, ws, c, in.FilePath, several(in), how{in.OnConflict, in.Encoding})
		},
		Classify: func(in MultiInput) string {
			var b strings.Builder
			fmt.Fprintf(&b, "edit %s:", in.FilePath)
			for _, e := range in.Edits {
				fmt.Fprintf(&b, " replace %q with %q;", e.OldString, e.NewString)
			}
			return b.String()
		},
		Run: func(ctx context.Context, c *tool.Call, in MultiInput) (MultiOutput, error) {
			return runMulti(ctx, ws, c, in)
		},
		Render: func(out MultiOutput) tool.Result {
			say := fmt.Sprintf("%s has been updated by %s.", out.FilePath, plural.Of(len(out.Edits), "edit"))
			return tool.Text(filetool.Change{Say: say, Hunks: out.StructuredPatch,
				Stale: out.StaleRecovered, Foreign: out.ForeignPatch, Notes: out.Notes}.Text())
		},
		Summarize: func(in MultiInput) string {
			return filetool.Base(in.FilePath) + ", " + plural.Of(len(in.Edits), "edit")
		},
		SummarizeResult: func(out MultiOutput) string { return counts(out.StructuredPatch) },
		OnInterrupt:     tool.InterruptBlock,
	})
}

func several(in MultiInput) []edits.Edit {
	out := make([]edits.Edit, len(in.Edits))
	for i, e := range in.Edits {
		out[i] = edits.Edit{Old: e.OldString, New: e.NewString, All: e.ReplaceAll, Expect: e.Expected}
	}
	return out
}

func runMulti(ctx context.Context, ws *workspace.Workspace, c *tool.Call, in MultiInput) (MultiOutput, error) {
	made, o, err := revise(ctx, ws, c, in.FilePath, several(in), how{in.OnConflict, in.Encoding})
	if err != nil {
		return MultiOutput{}, filetool.Error(err)
	}
	return MultiOutput{
		FilePath: o.Spelled, Edits: in.Edits, OriginalFile: filetool.Original(o.Before), StructuredPatch: filetool.Hunks(o.Hunks),
		Replacements: made, StaleRecovered: o.Stale, ForeignPatch: filetool.Hunks(o.Foreign), Notes: o.Notes,
	}, nil
}
