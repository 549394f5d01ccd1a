//go:build linux

package atomic

import (
	"context"
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/disk"
)

// A rename that reaches the disk before the content leaves an empty file after a power
// cut, which no test can make: the order of the calls is what there is to look at.
func TestTheContentIsOnTheDiskBeforeItTakesThePlace(t *testing.T) {
	for _, name := range []string{"a file that is replaced", "a new file"} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "old")
			var ops []string
			w := p.writer(t, &faultFS{FS: disk.OS(), after: func(_ int, op string) { ops = append(ops, op) }})
			file := File{Path: p.file, Data: []byte("new"), Old: p.info(t)}
			if name == "a new file" {
				file.Path, file.Old = p.file+"2", nil
			}
			if _, err := w.Write(context.Background(), file); err != nil {
				t.Fatal(err)
			}
			rename := slices.Index(ops, "rename")
			if rename < 0 {
				t.Fatalf("no rename: %v", ops)
			}
			written := rename
			for written > 0 && ops[written] != "write" {
				written--
			}
			if !slices.Contains(ops[written:rename], "fsync") {
				t.Errorf("the content is not synced before the rename: %v", ops)
			}
			if !slices.Contains(ops[rename:], "sync") {
				t.Errorf("the folder is not synced after the rename: %v", ops)
			}
		})
	}
}
