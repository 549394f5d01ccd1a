package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/edits"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// A program that embeds the workspace changes a file as the Edit tool does.
func ExampleWorkspace_Revise() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ws, err := workspace.Open(dir, &workspace.Options{State: filepath.Join(dir, ".state")})
	if err != nil {
		panic(err)
	}
	defer ws.Close()

	write := func(text string) workspace.Revision {
		return workspace.Revision{Path: ws.Look("greeting"), Create: true, Whole: true,
			Make: func(*textfile.Text) ([]byte, []string, error) { return []byte(text), nil, nil }}
	}
	if _, err := ws.Revise(context.Background(), write("hello\r\nworld\r\n")); err != nil {
		panic(err)
	}
	o, err := ws.Revise(context.Background(), workspace.Revision{
		Path: ws.Look("greeting"),
		Make: func(t *textfile.Text) ([]byte, []string, error) {
			r, err := edits.Apply(t, []edits.Edit{{Old: "hello\n", New: "good morning\n"}})
			if err != nil {
				return nil, nil, err
			}
			return r.Raw, r.Notes, nil
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(o.Notes[0])
	fmt.Printf("%q\n", o.After.Bytes())
	fmt.Println(len(patch.Unified("a", "b", o.Hunks)) > 0)
	// Output:
	// old_string matched with the file's own line endings (CRLF), which were kept.
	// "good morning\r\nworld\r\n"
	// true
}
