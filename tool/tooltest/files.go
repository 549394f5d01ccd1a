package tooltest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/tool"
)

// files holds a tool that says what it writes against what it does write: a preview
// changes nothing, what runs is what was shown, and no file is touched that the tool
// did not name.
func (s *Subject) files(t *testing.T) {
	for _, in := range s.Valid {
		s.reset(t)
		c := s.call(t, in)
		paths := s.Tool.PathsOf(c)
		if s.Tool.Preview != nil && s.Tool.Paths == nil {
			t.Fatalf("input %s: it shows changes and does not say which files it touches", in)
		}
		watched := s.watched(t, paths)
		before := look(t, watched)
		p, err := s.Tool.PreviewOf(t.Context(), c)
		if err != nil {
			t.Errorf("input %s: a valid input cannot be previewed: %v", in, err)
		}
		if changed := differences(before, look(t, watched)); len(changed) > 0 {
			t.Errorf("input %s: the preview changed %q", in, changed)
		}
		c.Approved = p.Digest()
		if _, err, returned := s.run(t.Context(), c, runPatience); err != nil || !returned {
			continue // results says so
		}
		after := look(t, watched)
		for _, path := range differences(before, after) {
			if !slices.ContainsFunc(paths.Writes, func(w string) bool { return pathin.Contains(s.absolute(t, w), path) }) {
				t.Errorf("input %s: %s was changed, and Paths does not name it", in, path)
			}
		}
		if p != nil {
			if wrong := differences(promised(before, after, p), after); len(wrong) > 0 {
				t.Errorf("input %s: not what the preview shows: %q", in, wrong)
			}
		}
	}
}

// watched are the folders whose files are looked at.
func (s *Subject) watched(t *testing.T, paths tool.Paths) []string {
	var dirs []string
	if s.Dir != "" {
		dirs = append(dirs, s.absolute(t, "."))
	}
	for _, w := range paths.Writes {
		dir := filepath.Dir(s.absolute(t, w))
		for _, err := os.Stat(dir); err != nil; _, err = os.Stat(dir) {
			dir = filepath.Dir(dir)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// absolute is a path of the tool's, by its physical folder.
func (s *Subject) absolute(t *testing.T, path string) string {
	t.Helper()
	if !filepath.IsAbs(path) {
		if s.Dir == "" {
			t.Fatalf("the tool names the relative path %q: say in Subject.Dir where it works", path)
		}
		path = filepath.Join(s.Dir, path)
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, strings.TrimPrefix(path, dir))
		}
	}
}

// look returns the mode and content of every file and link below some folders.
func look(t *testing.T, dirs []string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			content := ""
			switch {
			case info.Mode()&fs.ModeSymlink != 0:
				content, err = os.Readlink(path)
			case info.Mode().IsRegular():
				var raw []byte
				raw, err = os.ReadFile(path)
				content = string(raw)
			}
			files[path] = info.Mode().String() + " " + content
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// differences are the files that are not the same.
func differences(a, b map[string]string) []string {
	var paths []string
	for path := range a {
		if was, ok := b[path]; !ok || was != a[path] {
			paths = append(paths, path)
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// promised is how files should be after a change. The mode that a preview leaves to the
// system is taken as it is.
func promised(before, after map[string]string, p *tool.Preview) map[string]string {
	want := map[string]string{}
	for path, file := range before {
		want[path] = file
	}
	for _, f := range p.Files {
		delete(want, f.From)
		if f.After == nil {
			delete(want, f.Path)
			continue
		}
		mode := f.After.Mode.String()
		if f.After.Mode == 0 {
			mode, _, _ = strings.Cut(after[f.Path], " ")
		}
		want[f.Path] = mode + " " + string(f.After.Raw)
	}
	return want
}
