package golden_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/golden"
)

// recorder is a test whose failure is looked at.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Errorf(f string, args ...any) { r.said = f }

func TestCheckWritesOnlyWhenAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "f.golden")
	if err := flag.Set("update", "true"); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, path, "a\n")
	if err := flag.Set("update", "false"); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, path, "a\n")

	r := &recorder{TB: t}
	golden.Check(r, path, "b\n")
	if !strings.Contains(r.said, "-want +got") {
		t.Errorf("another text passed: %q", r.said)
	}
	golden.Check(t, path, "a\n")
}

func TestAnArchiveHoldsWhatIsExpected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.txtar")
	if err := os.WriteFile(file, []byte("-- in --\nx\n-- out --\nold\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	check := func(got string) (said string) {
		golden.EachArchive(t, file, func(t *testing.T, a golden.Archive) {
			r := &recorder{TB: t}
			a.Check(r, "out", a.Section("in")+got)
			said = r.said
		})
		return said
	}
	if check("new\n") == "" {
		t.Error("another text passed")
	}
	if err := flag.Set("update", "true"); err != nil {
		t.Fatal(err)
	}
	said := check("new\n")
	if err := flag.Set("update", "false"); err != nil {
		t.Fatal(err)
	}
	if said += check("new\n"); said != "" {
		t.Errorf("after it was written: %s", said)
	}
}
