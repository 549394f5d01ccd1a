package preview_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/harness/preview"
	"github.com/haftdev/haft/internal/test/needtest"
)

// newHome is a bench as users have it: the project and haft's own files are in the home
// folder.
func newHome(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := newBench(t, nil)
	home := b.project
	for name, content := range files {
		b.write(name, content)
	}
	b.project, b.store = filepath.Join(home, "project"), filepath.Join(home, ".cache/haft/previews")
	if err := errors.Join(os.MkdirAll(b.project, 0o755), os.MkdirAll(b.store, 0o700)); err != nil {
		t.Fatal(err)
	}
	b.shell = b.host.NewShell(b.project)
	b.request.Shell, b.request.Dirs, b.request.Home, b.request.Store = b.shell, []string{b.project}, home, b.store
	settle()
	return b
}

var homeFiles = map[string]string{"old": "1\n", "d/mode": "2\n", "emptied/x": "3\n", "kept": "4\n", "project/dir/a": "5\n"}

// changeHome changes the home folder in all ways, and the project.
const changeHome = `echo k > k; cd ..; echo x > .bashrc; rm old; chmod 600 d/mode; mkdir new; rm -r emptied; mkdir emptied
mkdir -p .cache/a .npm; echo x > .cache/a/b; echo x > .npm/c; mkdir shut; echo x > shut/f; chmod 0 shut; cat kept > /dev/null
`

func TestOutsideOfAProjectInTheHomeFolder(t *testing.T) {
	for _, way := range []struct{ command, copied string }{
		{changeHome, ""},
		{changeHome + `perl -e 'rename("project/dir", "project/moved") or die "$!\n"'`, "an overlay does not allow renaming a folder"},
	} {
		b := newHome(t, homeFiles)
		home := b.request.Home
		before := tree(t, home)
		r := b.mustRun(way.command)
		if r.Copied != way.copied {
			t.Errorf("it ran in a copy because %q, want %q", r.Copied, way.copied)
		}
		var outside []string
		for _, path := range r.Outside {
			outside = append(outside, strings.TrimPrefix(path, home+"/"))
		}
		if diff := cmp.Diff([]string{".bashrc", "d/mode", "emptied", "new", "old", "shut/f"}, outside); diff != "" {
			t.Error(diff)
		}
		if r.Caches != 2 {
			t.Errorf("%d files in caches", r.Caches)
		}
		if notes := b.shown(r).Notes; !slices.ContainsFunc(notes, func(n string) bool {
			return strings.HasPrefix(n, "It changed ") && strings.HasSuffix(n, "and 1 more outside the project; that is dropped.")
		}) {
			t.Errorf("notes %q", notes)
		}
		b.apply(r)
		if err := r.Drop(); err != nil {
			t.Error(err)
		}
		after := tree(t, home)
		for _, m := range []map[string]string{before, after} {
			for name := range m {
				if strings.HasPrefix(name, "project") {
					delete(m, name)
				}
			}
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the home folder has changed, or layers are left: %s", diff)
		}
		if tree(t, b.project)["k"] == "" {
			t.Error("the change of the project was not applied")
		}
	}
}

// The whole home folder can be the project, as of a repository with dotfiles.
func TestOutsideOfNothingIfTheHomeFolderIsTheProject(t *testing.T) {
	b := newHome(t, homeFiles)
	b.request.Dirs, b.request.Home = []string{b.request.Home}, ""
	r := b.mustRun("echo 2 >> ../old")
	if r.Copied != "" || len(r.Outside) > 0 || len(b.shown(r).Files) != 1 {
		t.Errorf("copied because %q, outside %v, %v", r.Copied, r.Outside, b.shown(r).Files)
	}
	b.apply(r)
	if got, _ := os.ReadFile(filepath.Join(b.project, "../old")); string(got) != "1\n2\n" {
		t.Errorf("after applying: %q", got)
	}
}

// The home folder may be a link.
func TestOutsideOfALinkedHomeFolder(t *testing.T) {
	b := newHome(t, homeFiles)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(b.request.Home, link); err != nil {
		t.Fatal(err)
	}
	b.request.Store = filepath.Join(link, ".cache/haft/previews")
	for _, command := range []string{"echo x > ../n", `echo x > ../n; perl -e 'rename("dir", "moved") or die "$!\n"'`} {
		if r := b.mustRun(command); len(r.Outside) != 1 || r.Outside[0] != filepath.Join(b.request.Home, "n") {
			t.Errorf("%s: outside %v", command, r.Outside)
		}
	}
}

// A command that does not stop writing there is ended as well.
func TestOutsideIsBounded(t *testing.T) {
	b := newHome(t, nil)
	b.request.Files, b.request.Bytes = 1000, 4<<20
	var limit *preview.LimitError
	if _, err := b.run("while true; do head -c 1000000 /dev/zero >> ../big; done"); !errors.As(err, &limit) {
		t.Errorf("got %v", err)
	}
}

// Where the home folder can have no layer, writing there fails visibly. Caches can be
// written.
func TestAHomeFolderWithAMountInIt(t *testing.T) {
	needtest.Need(t, needtest.Mounts)
	b := newHome(t, map[string]string{"mounted/x": "1\n", ".npm/a": "1\n"})
	home := b.request.Home
	b.request.Scratch = []string{filepath.Join(home, ".npm")}
	if err := syscall.Mount("tmpfs", filepath.Join(home, "mounted"), "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(filepath.Join(home, "mounted"), syscall.MNT_DETACH) })
	r := b.mustRun("echo 1 > ../n; echo k > k; echo 2 > ../.npm/a && cat ../.npm/a")
	if out := r.Task.Output().Excerpt(1000, false).Text; !strings.Contains(out, "n: Read-only file system") || !strings.HasSuffix(out, "\n2\n") || r.Copied != "" {
		t.Errorf("copied because %q; it says %q", r.Copied, out)
	}
	if files := b.shown(r).Files; len(files) != 1 || files[0].Path != filepath.Join(b.project, "k") {
		t.Errorf("it changed %v", files)
	}
}

// A folder keeps the bits that are inherited by what is created in it.
func TestAPreviewShowsNoModeThatDidNotChange(t *testing.T) {
	b := newHome(t, nil)
	for _, dir := range []string{b.project, b.request.Home} {
		if err := os.Chmod(dir, 0o755|os.ModeSetgid); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	if r := b.mustRun("true"); r.Changed() || len(r.Outside) > 0 {
		t.Errorf("changed %v, outside %v", b.shown(r).Files, r.Outside)
	}
}
