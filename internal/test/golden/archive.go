package golden

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// An Archive is a txtar file whose sections are what a test starts from and what it should get.
type Archive struct{ *txtar.Archive }

// EachArchive runs a test for every archive that matches the pattern. With -update, what
// [Archive.Check] was given is written back.
func EachArchive(t *testing.T, pattern string, test func(*testing.T, Archive)) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			test(t, Archive{archive})
			if *update && !t.Failed() {
				write(t, file, string(txtar.Format(archive)))
			}
		})
	}
}

// Section returns a section's text, or "" if there is none.
func (a Archive) Section(name string) string {
	if f := a.find(name); f != nil {
		return string(f.Data)
	}
	return ""
}

// Check fails t if the section does not hold got.
func (a Archive) Check(t testing.TB, name, got string) {
	t.Helper()
	f := a.find(name)
	if *update {
		if f == nil {
			a.Files = append(a.Files, txtar.File{Name: name})
			f = &a.Files[len(a.Files)-1]
		}
		f.Data = []byte(got)
	}
	if d := cmp.Diff(a.Section(name), got); d != "" {
		t.Errorf("%s (-want +got), write it again with -update if the change is meant:\n%s", name, d)
	}
}

func (a Archive) find(name string) *txtar.File {
	for i := range a.Files {
		if a.Files[i].Name == name {
			return &a.Files[i]
		}
	}
	return nil
}
