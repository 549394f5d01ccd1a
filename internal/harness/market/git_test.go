package market

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// A repository is fetched at the branch, tag or commit that is asked for, and at no other.
func TestCloneFetchesWhatIsAskedFor(t *testing.T) {
	needtest.Program(t, "git")
	if runtime.GOOS == "windows" {
		t.Skip("a file address has no drive")
	}
	dir, first, third := newRepository(t)
	for _, c := range []struct{ name, ref, sha, want, text string }{
		{"the default branch", "", "", third, "third"},
		{"a tag", "v1", "", first, "first"},
		{"a branch", "old", "", first, "first"},
		{"a commit", "", first, first, "first"},
		{"a commit that is not the tip of its branch's name", "main", first, first, "first"},
		{"a commit that does not exist", "", strings.Repeat("a", 40), "", ""},
		{"a branch that does not exist", "none", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "tree")
			r := repository{URL: "file://" + filepath.ToSlash(dir), Ref: c.ref, SHA: c.sha, local: true}
			got, err := r.clone(context.Background(), to)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Fatalf("clone = %q, %v; want %q", got, err, c.want)
			}
			if text, _ := os.ReadFile(filepath.Join(to, "text")); string(text) != c.text {
				t.Errorf("the file says %q, want %q", text, c.text)
			}
		})
	}
}

// No address makes git do anything but fetch from a server.
func TestOnlyServersAreFetchedFrom(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://example.com/a.git": true, "ssh://git@example.com/a.git": true, "git@example.com:a/b.git": true,
		"http://example.com/a.git": false, "git://example.com/a": false, "file:///tmp/a": false, "/tmp/a": false, "../a": false,
		"ext::sh -c x": false, "ext::sh": false, "fd::3": false, "--upload-pack=x": false, "-x@example.com:a": false,
		"git@-oProxyCommand=x:a": false, "git@example.com:-x": false, "ssh://-oProxyCommand=x/a": false, "https:///a": false,
		"https://example.com/a\nb": false, "https://example.com/a\x1b[31m": false, "https://me:word@example.com/a": false, "": false,
	} {
		if err := (repository{URL: address}).check(); (err == nil) != ok {
			t.Errorf("%q: %v, want accepted = %v", address, err, ok)
		}
	}
}

// A plugin's source is read as the marketplace's format has it.
func TestSourcesOfPlugins(t *testing.T) {
	sha := strings.Repeat("0123abcd", 5)
	for text, want := range map[string]string{
		`"./plugins/a"`: "plugins/a", `"./"`: ".", `"a"`: "base/a",
		`{"source": "github", "repo": "o/r", "ref": "v1"}`:                                "https://github.com/o/r.git v1  .",
		`{"source": "url", "url": "https://example.com/a.git", "sha": "` + sha + `"}`:     "https://example.com/a.git  " + sha + " .",
		`{"source": "git-subdir", "url": "https://example.com/a.git", "path": "tools/a"}`: "https://example.com/a.git   tools/a",
		`{"source": "git-subdir", "url": "https://example.com/a.git", "path": "../a"}`:    "",
		`{"source": "url", "url": "https://example.com/a.git", "sha": "abc"}`:             "",
		`{"source": "github", "repo": "../r"}`:                                            "",
		`{"source": "pip", "package": "a"}`:                                               "", `{}`: "", `null`: "", `7`: "", `"../a"`: "", `"./a/../../b"`: "", `"a\\b"`: "",
	} {
		var c catalog
		c.Metadata.PluginRoot = "./base"
		s, err := c.source(entry{Name: "a", Source: []byte(text)})
		got := s.dir
		if s.repository != nil {
			got = strings.Join([]string{s.repository.URL, s.repository.Ref, s.repository.SHA, s.dir}, " ")
		}
		if (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// newRepository makes one with three commits: the first has the tag v1 and the branch old, and
// the last is the tip of main.
func newRepository(t *testing.T) (dir, first, last string) {
	t.Helper()
	dir = t.TempDir()
	commit := func(text string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "text"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		runGit(t, dir, "add", "text")
		runGit(t, dir, "commit", "-q", "-m", text)
		return runGit(t, dir, "rev-parse", "HEAD")
	}
	runGit(t, dir, "init", "-q", "-b", "main", ".")
	first = commit("first")
	runGit(t, dir, "tag", "v1")
	runGit(t, dir, "branch", "old")
	commit("second")
	return dir, first, commit("third")
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
