package filetool

import (
	"bytes"
	"context"

	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
)

// Preview returns what a revision would change now, by the code that changes it.
func Preview(ctx context.Context, ws *workspace.Workspace, r workspace.Revision) (*tool.Preview, error) {
	if v := r.Path.Verdict(guard.Write); v.Decision == guard.Deny {
		return nil, tool.Errorf("%s.", v.Reason)
	}
	o, err := ws.Preview(ctx, r)
	if err != nil {
		return nil, Error(err)
	}
	return previewOf(o), nil
}

// Revise makes a revision, if it still is what was approved for the call.
func Revise(ctx context.Context, ws *workspace.Workspace, c *tool.Call, r workspace.Revision) (*workspace.Outcome, error) {
	if c.Approved != "" { // digests of large files take time
		r.Approve = func(o *workspace.Outcome) error { return c.Approve(previewOf(o)) }
	}
	o, err := ws.Revise(ctx, r)
	ws.Told(r, err)
	return o, err
}

// previewOf is an outcome as the contract shows changes.
func previewOf(o *workspace.Outcome) *tool.Preview {
	if o.Before != nil && bytes.Equal(o.Before.Raw(), o.After.Raw()) {
		return &tool.Preview{}
	}
	lines := func(t *textfile.Text) []byte { return t.Bytes() }
	if o.Before != nil && o.Before.EOL() == textfile.CR && !bytes.Contains(o.After.Bytes(), []byte("\n")) {
		lines = func(t *textfile.Text) []byte { return bytes.ReplaceAll(t.Bytes(), []byte("\r"), []byte("\n")) } // as people see them
	}
	f := tool.FileChange{Path: o.Path, After: tool.NewVersion(o.Mode, o.After.Raw(), lines(o.After))}
	if o.Before != nil {
		f.Before = tool.NewVersion(o.Mode, o.Before.Raw(), lines(o.Before))
	}
	return &tool.Preview{Files: []tool.FileChange{f}}
}
