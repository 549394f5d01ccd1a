// Package golden compares what a test got with the file that holds what it should get.
//
//	golden.Check(t, "testdata/texts.golden", got)
//
// `go test ./<package> -update` writes the files again; the diff is then read as
// code, because it is the change that users see.
//
// Only tests import it. Checks of different files may run at the same time.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the expected files")

// Updating reports whether expected files are to be written, for tests that keep
// what they expect in a form of their own.
func Updating() bool { return *update }

// Check fails t if the file at path does not hold got.
func Check(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		write(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got); if the change is intended, rewrite it with -update:\n%s", path, d)
	}
}

// write makes the file at path hold text.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
