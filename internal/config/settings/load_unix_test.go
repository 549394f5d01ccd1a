//go:build unix

package settings_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPipeOrFolderInAFilesPlaceDoesNotHang(t *testing.T) {
	p := newPlace(t)
	p.write(p.project, ".claude/settings.json/x", "")
	if err := syscall.Mkfifo(filepath.Join(p.project, ".claude/settings.local.json"), 0o644); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	want := []string{
		"P/.claude/settings.local.json:1: it could not be read: not a regular file",
		"P/.claude/settings.json:1: it could not be read: not a regular file",
	}
	if diff := cmp.Diff(want, p.problems(p.load())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
