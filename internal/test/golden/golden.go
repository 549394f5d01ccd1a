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
	"strings"
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

// Part compares a part of a page, such as a table that a test makes. It stands between the comments
// <!-- NAME: made by a test; -update writes it --> and <!-- end of NAME -->.
func Part(t testing.TB, path, name, got string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": made by a test; -update writes it -->\n", "\n<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for %s", path, name)
	}
	Check(t, path, before+begin+"\n"+got+end+after)
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
