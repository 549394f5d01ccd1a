package instructions_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge/instructions"
)

func TestNotesAreKept(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "CLAUDE.md"), []byte("# Rules\nno line break at the end"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := map[settings.Source]struct {
		name   string
		exists bool
		text   string
	}{
		settings.Project: {filepath.Join(root, "CLAUDE.md"), true, "# Rules\nno line break at the end\n- use tabs\n- and more\n"},
		settings.Local:   {filepath.Join(root, "HAFT.local.md"), false, "- use tabs\n- and more\n"},
		settings.User:    {filepath.Join(home, ".haft", "HAFT.md"), false, "- use tabs\n- and more\n"},
	}
	targets := instructions.Targets(root, home)
	if len(targets) != len(want) {
		t.Fatalf("%+v", targets)
	}
	for _, target := range targets {
		w := want[target.Source]
		if target.Path != w.name || target.Exists != w.exists {
			t.Errorf("%+v", target)
		}
		for _, note := range []string{"use\ttabs\n", "and more"} {
			if err := target.Append(note); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(target.Path); err != nil || string(got) != w.text {
			t.Errorf("%s: %q, %v", target.Path, got, err)
		}
		if err := target.Append(" \n"); err == nil {
			t.Error("an empty note is kept")
		}
	}
	if files, _ := instructions.Load(root, home, nil); len(files) != 2 { // what is in two files is taken once
		t.Errorf("%+v", files)
	}
}

// TestANoteDoesNotLeaveTheProject has a project whose file is a link to somewhere else.
func TestANoteDoesNotLeaveTheProject(t *testing.T) {
	root, outside := t.TempDir(), filepath.Join(t.TempDir(), "authorized_keys")
	if err := os.WriteFile(outside, []byte("key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "AGENTS.md")); err != nil {
		t.Skip(err)
	}
	if err := instructions.Targets(root, "")[0].Append("note"); err == nil {
		t.Error("it was added")
	}
	if got, _ := os.ReadFile(outside); string(got) != "key\n" {
		t.Errorf("%q", got)
	}
}
