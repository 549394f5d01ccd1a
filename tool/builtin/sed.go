package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/haftdev/haft/internal/workspace/patch"
	"github.com/haftdev/haft/internal/workspace/textfile"
	"github.com/haftdev/haft/tool/bash"
	"github.com/haftdev/haft/workspace"
)

// SedEdits lets Bash show and make a plain sed -i as an edit of a workspace's
// file: encoding, mode and links are kept, and it can be taken back.
func SedEdits(ws *workspace.Workspace) *bash.Edit {
	return &bash.Edit{
		Preview: func(ctx context.Context, path string, change func(string) (string, error)) (before, after, diff string, err error) {
			o, err := ws.Preview(ctx, rewrite(ws, path, change))
			if err != nil {
				return "", "", "", err
			}
			return string(o.Before.Bytes()), string(o.After.Bytes()), patch.Unified(path, path, o.Hunks), nil
		},
		Apply: func(ctx context.Context, path, base, content string) error {
			_, err := ws.Revise(ctx, rewrite(ws, path, func(now string) (string, error) {
				if sum := sha256.Sum256([]byte(now)); hex.EncodeToString(sum[:]) != base {
					return "", errors.New("the file has changed since the edit was shown")
				}
				return content, nil
			}))
			return err
		},
	}
}

// rewrite is a revision of a file's whole text, whoever has read it.
func rewrite(ws *workspace.Workspace, path string, change func(string) (string, error)) workspace.Revision {
	return workspace.Revision{
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
