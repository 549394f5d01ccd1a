//go:build unix

package ownprogram_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/sys/ownprogram"
)

func program(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestProgramsOfTheProjectAreNotFound(t *testing.T) {
	project, elsewhere := t.TempDir(), t.TempDir()
	for _, dir := range []string{".git", "sub", "tree"} {
		if err := os.Mkdir(filepath.Join(project, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(elsewhere, ".git"), []byte("gitdir: "+project+"/.git/worktrees/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(program(t, filepath.Join(project, "bin")), link); err != nil {
		t.Fatal(err)
	}
	system := program(t, t.TempDir())
	planted := strings.Join([]string{filepath.Join(project, "bin"), "bin", ".", "", link}, ":")
	t.Setenv("PATH", planted+":"+system)
	for _, dir := range []string{project, filepath.Join(project, "sub"), elsewhere} {
		if file, err := ownprogram.Find("git", dir); err != nil || file != filepath.Join(system, "git") {
			t.Errorf("in %s: %q, %v", dir, file, err)
		}
		if path := ownprogram.Path(os.Getenv("PATH"), dir); path != system {
			t.Errorf("in %s, PATH is %q", dir, path)
		}
	}
	t.Setenv("PATH", planted)
	if file, err := ownprogram.Find("git", project); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%q, %v", file, err)
	}
	t.Setenv("PATH", system)
	t.Chdir("/")
	if _, err := ownprogram.Find("git"); err != nil {
		t.Errorf("in the folder of the machine: %v", err)
	}
}
