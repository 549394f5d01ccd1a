package builtin

import (
	"context"

	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/filetool"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
)

// SedEdits makes Bash show and carry out a plain sed -i as an edit of a file in the workspace:
// encoding, mode and links are preserved, and the edit can be undone.
func SedEdits(ws *workspace.Workspace) *bash.Edit {
	return &bash.Edit{
		Preview: func(ctx context.Context, c *tool.Call, path string, change func(string) (string, error)) (*tool.Preview, error) {
			return filetool.Preview(ctx, ws, rewrite(ws, c, path, change))
		},
		Apply: func(ctx context.Context, c *tool.Call, path string, change func(string) (string, error)) error {
			_, err := filetool.Revise(ctx, ws, c, rewrite(ws, c, path, change))
			return err
		},
	}
}

// rewrite is a revision of a file's whole text, even if the model has not read it.
func rewrite(ws *workspace.Workspace, c *tool.Call, path string, change func(string) (string, error)) workspace.Revision {
	return workspace.Revision{
		Agent:  c.Agent,
		Path:   ws.Look(path),
		Unseen: true,
		Make: func(t *textfile.Text) ([]byte, []string, error) {
			content, err := change(string(t.Bytes()))
			if err != nil {
				return nil, nil, err
			}
			raw, err := t.Rewrite(content)
			return raw, nil, err
		},
	}
}
