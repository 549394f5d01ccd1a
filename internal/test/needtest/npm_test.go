package needtest

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

// fakeNPM puts a program in the place of npm, which notes each call in a file.
func fakeNPM(t *testing.T, script string) (calls func() int) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for npm is a shell script")
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\necho called >>"+log+"\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return func() int {
		raw, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(raw, []byte("called"))
	}
}

func TestManyAskAndOneInstalls(t *testing.T) {
	calls := fakeNPM(t, `mkdir -p "$3/node_modules/x"`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			dir, err := Packages(t.Context(), "x@1", "y@2")
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "node_modules", "x")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if calls() != 1 {
		t.Errorf("npm ran %d times", calls())
	}
	files := fstest.MapFS{"package.json": {Data: []byte("{}")}, "package-lock.json": {Data: []byte("{}")}}
	dir, err := install(t.Context(), files, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "package-lock.json")); err != nil || calls() != 2 {
		t.Errorf("%v after %d calls", err, calls())
	}
}

func TestAFailureIsTriedOnceInARun(t *testing.T) {
	calls := fakeNPM(t, `echo "no network"; exit 1`)
	for n := range 3 {
		_, err := Packages(t.Context(), "x@1")
		if err == nil || (n == 0) == strings.Contains(err.Error(), "not tried again") || !strings.Contains(err.Error(), "npm install") {
			t.Errorf("attempt %d: %v", n, err)
		}
	}
	if calls() != 1 {
		t.Errorf("npm ran %d times", calls())
	}
	base, err := packagesDir()
	if err != nil {
		t.Fatal(err)
	}
	marks, err := filepath.Glob(filepath.Join(base, "*.failed"))
	if err != nil || len(marks) != 1 {
		t.Fatal(marks, err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(marks[0], old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := Packages(t.Context(), "x@1"); err == nil || calls() != 2 {
		t.Errorf("%v after %d calls: a failure of another run counts", err, calls())
	}
	if err := os.WriteFile(marks[0], []byte("1\nelsewhere"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Packages(t.Context(), "x@1"); err == nil || calls() != 3 {
		t.Errorf("%v after %d calls: a failure of another process counts", err, calls())
	}
}
