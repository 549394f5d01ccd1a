package golden_test

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/golden"
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
