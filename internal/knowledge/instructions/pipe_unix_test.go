//go:build unix

package instructions_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPipesAndDevicesNeverHoldUs(t *testing.T) {
	p := newPlace(t, "-- home/.claude/CLAUDE.md-> --\n/dev/zero\n")
	if err := syscall.Mkfifo(filepath.Join(p.base, "project/CLAUDE.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	within(t, 10*time.Second, func() {
		files, problems := p.load(nil)
		want := []string{
			"home/.claude/CLAUDE.md: could not be read: not a regular file",
			"project/CLAUDE.md: could not be read: not a regular file",
		}
		if diff := cmp.Diff(want, problems); diff != "" || len(files) != 0 {
			t.Errorf("files %v, problems (-want +got):\n%s", files, diff)
		}
	})
}
