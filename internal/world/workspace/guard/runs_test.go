package guard_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/guard"
)

func TestWhatWillRun(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(at("real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", at("linked")); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "x")
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Runs: []guard.Run{
		{Path: at("linked/s.py"), Why: "a server"}, {Path: at("bin"), Why: "PATH", Reach: guard.Entries}, {Path: at("hk"), Why: "git", Reach: guard.Tree}, {Path: outside, Why: "elsewhere"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"linked/s.py": "a server", "real/s.py": "a server", "real/S.py": "a server", "real/t.py": "", "bin/x": "PATH", "bin/d/x": "", "bin": "", "hk/d/x": "git", "hk": "git", "hkx": "",
	} {
		if s := g.Look(at(name)).Sensitive; s.What != want || (want != "") != (s.Write == guard.Ask) || s.Read != guard.Allow {
			t.Errorf("%s: %+v, want %q", name, s, want)
		}
	}
	for name, want := range map[string]bool{"real": true, "linked": true, "bin": true, "src": false, "real/t.py": false} {
		if why := g.Holds(g.Look(at(name))); (why != "") != want {
			t.Errorf("%s holds %q, want %v", name, why, want)
		}
	}
	if s := g.Look(outside).Sensitive; s.What != "" {
		t.Errorf("what is outside the project is %+v", s)
	}
	protected := g.Protected()
	for name, want := range map[string]bool{"real/s.py": true, "hk": true, "bin": false} { // installers write to bin
		if slices.Contains(protected, at(name)) != want {
			t.Errorf("a sandbox protects %s: %v, want %v", name, !want, want)
		}
	}
}
