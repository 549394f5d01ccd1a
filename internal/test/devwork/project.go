package devwork

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/test/needtest"
)

//go:embed project.txtar
var files []byte

// A Project is a folder to work in, with a history of git.
type Project struct {
	Dir  string // the project
	Home string // the home folder of whom it belongs to, in which it is

	pristine string
}

// New makes the project in a home folder of its own, and sets the environment of
// the test accordingly: names and times of commits are fixed, and programs of the
// real home are not in PATH. Nothing is in a temporary directory, which confined
// commands may see differently, unless the user has no home.
func New(t testing.TB) *Project {
	t.Helper()
	needtest.Program(t, "git")
	place, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(place, 0o755)
	}
	if err != nil {
		place = ""
	}
	top, err := os.MkdirTemp(place, "haft-devwork-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, top) })
	if top, err = filepath.EvalSymlinks(top); err != nil {
		t.Fatal(err)
	}
	p := &Project{Dir: filepath.Join(top, "home", "shelf"), Home: filepath.Join(top, "home"), pristine: filepath.Join(top, "pristine")}
	p.environment(t)
	p.write(t)
	p.commit(t)
	p.Reset(t)
	return p
}

// remove deletes a folder in which go and git may have made others read-only.
func remove(t testing.TB, dir string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

func (p *Project) environment(t testing.TB) {
	t.Helper()
	if out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output(); err == nil { // those of the real home are filled
		if dirs := strings.Fields(string(out)); len(dirs) == 2 {
			t.Setenv("GOCACHE", dirs[0])
			t.Setenv("GOMODCACHE", dirs[1])
		}
	}
	real, _ := os.UserHomeDir()
	path := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return real != "" && pathin.Contains(real, dir)
	})
	for name, value := range map[string]string{
		"PATH": strings.Join(path, string(filepath.ListSeparator)), "HOME": p.Home, "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "",
		"GOPROXY": "off", "GOTOOLCHAIN": "local", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com", "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
	} {
		t.Setenv(name, value)
	}
	if err := os.MkdirAll(filepath.Join(p.Home, ".cache"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (p *Project) write(t testing.TB) {
	t.Helper()
	for _, f := range txtar.Parse(files).Files {
		path := filepath.Join(p.pristine, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasSuffix(path, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(path, f.Data, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// commit makes two commits on main, a branch and a change that is not committed.
func (p *Project) commit(t testing.TB) {
	t.Helper()
	cmd := exec.Command("bash", "-ec", `
find . -exec touch -h -d 2026-01-01T00:00:00Z {} +
git init -q -b main .
git add . && git commit -qm 'Add a shelf'
git checkout -qb feature && echo 'draft' > draft.txt && git add draft.txt && git commit -qm 'Add a draft'
git checkout -q main && echo '- two' >> notes.md && git commit -qam 'Take a note' && git tag v1
echo '- three' >> notes.md
find . -exec touch -h -d 2026-01-01T00:00:00Z {} +
git status >/dev/null`)
	cmd.Dir = p.pristine
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make the history: %v\n%s", err, out)
	}
}

// Reset makes the project what it was at first, and the home folder as good as
// empty.
func (p *Project) Reset(t testing.TB) {
	t.Helper()
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries { // the folder itself stays: it may be in use
		remove(t, filepath.Join(p.Dir, e.Name()))
	}
	if out, err := exec.Command("cp", "-a", p.pristine+"/.", p.Dir).CombinedOutput(); err != nil {
		t.Fatalf("copy the project: %v: %s", err, out)
	}
}

// Tree says what is in the project, by path. The history of git is summed up: its
// files differ in times and numbers.
func (p *Project) Tree(t testing.TB) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(p.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			tree[path], err = history(filepath.Dir(path))
			if err == nil && e.IsDir() {
				err = fs.SkipDir
			}
			return err
		}
		name, err := filepath.Rel(p.Dir, path)
		if err != nil {
			return err
		}
		tree[name], err = describe(path, e)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func describe(path string, e fs.DirEntry) (string, error) {
	info, err := e.Info()
	if err != nil {
		return "", err
	}
	text := info.Mode().String()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return text + " " + target, err
	case info.Mode().IsRegular():
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if len(data) < 200 {
			return fmt.Sprintf("%s %q", text, data), nil
		}
		return fmt.Sprintf("%s %d bytes %x", text, len(data), sha256.Sum256(data)), nil
	}
	return text, nil
}

// history is what git knows in a folder: where its branches are, and what is
// prepared for the next commit.
func history(dir string) (string, error) {
	cmd := exec.Command("sh", "-c", `git for-each-ref --format='%(refname) %(objectname) %(contents:subject)' && git status --porcelain=v2 --branch --show-stash`)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("look at the history in %s: %w: %s", dir, err, out)
	}
	return string(out), nil
}
