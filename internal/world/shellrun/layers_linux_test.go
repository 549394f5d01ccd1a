package shellrun

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// asBoth runs a test as the user who runs it and, if that is root, as an
// ordinary one.
func asBoth(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Run("root", test)
		if t.Failed() {
			return
		}
		unprivileged(t)
		return
	}
	test(t)
}

// tree lists what is below a directory, with contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.Type().IsRegular():
			data, err := os.ReadFile(path)
			found[name] = string(data)
			return err
		case e.Type()&fs.ModeCharDevice != 0 && info.Sys().(*syscall.Stat_t).Rdev == 0:
			found[name] = "(deleted)"
		default:
			found[name] = e.Type().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLayersHoldWhatACommandChanges(t *testing.T) {
	needtest.Need(t, needtest.Overlay)
	asBoth(t, func(t *testing.T) {
		project, store := t.TempDir(), t.TempDir()
		files := map[string]string{"keep": "1\n", "change": "2\n", "delete": "3\n", "dir/inner": "4\n", "replaced/old": "5\n"}
		writeFiles(t, project, files)
		before := tree(t, project)
		s := newTestHost(t, nil).NewShell(project)
		layers, err := sandbox.NewLayers(store, project)
		if err != nil {
			t.Fatal(err)
		}
		box := &sandbox.Spec{Layers: layers.List}
		task := runBoxed(t, s, box, `echo more >> change; rm delete; echo new > "odd, name:x"; rm -r replaced; mkdir replaced; echo 6 > replaced/new; cat keep dir/inner change; touch /etc/x 2>/dev/null || echo refused`)
		if got, want := text(task), "1\n4\n2\nmore\nrefused\n"; got != want {
			t.Errorf("output %q, want %q", got, want)
		}
		if after := tree(t, project); !equalTrees(before, after) {
			t.Errorf("the project has changed: %v", after)
		}
		want := map[string]string{"change": "2\nmore\n", "delete": "(deleted)", "odd, name:x": "new\n", "replaced": "d---------", "replaced/new": "6\n"}
		if got := tree(t, layers.List[0].Upper); !equalTrees(got, want) {
			t.Errorf("changes %v, want %v", got, want)
		}
		opaque := make([]byte, 1)
		if _, err := unix.Getxattr(filepath.Join(layers.List[0].Upper, "replaced"), "user.overlay.opaque", opaque); err != nil || string(opaque) != "y" {
			t.Errorf("the replaced folder is not marked: %v %q", err, opaque)
		}
		if err := layers.Remove(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(store); len(left) > 0 {
			t.Errorf("left in the store: %v", left)
		}
	})
}

func equalTrees(a, b map[string]string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(keys(a), func(k string) bool { return a[k] != b[k] })
}

func keys(m map[string]string) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	return all
}

// Each command of its own layers starts from the project as it is.
func TestLayersAreFresh(t *testing.T) {
	needtest.Need(t, needtest.Overlay)
	project, store := t.TempDir(), t.TempDir()
	s := newTestHost(t, nil).NewShell(project)
	for range 3 {
		layers, err := sandbox.NewLayers(store, project)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(runBoxed(t, s, &sandbox.Spec{Layers: layers.List}, "ls; echo x > x")); got != "" {
			t.Errorf("it found %q", got)
		}
		if err := layers.Remove(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhyThereCanBeNoLayer(t *testing.T) {
	project, store := t.TempDir(), t.TempDir()
	reason := func(store string) sandbox.LayerReason {
		layers, err := sandbox.NewLayers(store, project)
		if err == nil {
			_, err = newTestHost(t, nil).NewShell("/").Run(t.Context(), Request{Command: "true", Box: &sandbox.Spec{Layers: layers.List}})
			if removed := layers.Remove(); removed != nil {
				t.Error(removed)
			}
		}
		if failure, ok := sandbox.AsLayerError(err); ok {
			return failure.Reason
		}
		t.Errorf("with the store %s: %v", store, err)
		return ""
	}
	needtest.Need(t, needtest.Mounts)
	below := filepath.Join(project, "with space")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	mount(t, "tmpfs", below, "tmpfs", "")
	if got := reason(store); got != sandbox.MountBelow {
		t.Errorf("got %q", got)
	}
}

// A container's root is an overlay, which cannot hold another's changes.
func TestChangesAreNotKeptOnAnOverlay(t *testing.T) {
	needtest.Need(t, needtest.Mounts)
	base := t.TempDir()
	writeFiles(t, base, map[string]string{"lower/project/file": "1\n", "lower/store/x": "", "upper/x": "", "work/x": ""})
	if err := os.Remove(filepath.Join(base, "work/x")); err != nil {
		t.Fatal(err)
	}
	merged := filepath.Join(base, "merged")
	if err := os.Mkdir(merged, 0o755); err != nil {
		t.Fatal(err)
	}
	mount(t, "overlay", merged, "overlay", "lowerdir="+base+"/lower,upperdir="+base+"/upper,workdir="+base+"/work")
	project := filepath.Join(merged, "project")
	layers, err := sandbox.NewLayers(filepath.Join(merged, "store"), project)
	if err != nil {
		t.Fatal(err)
	}
	defer layers.Remove()
	if strings.HasPrefix(layers.List[0].Upper, merged) {
		t.Errorf("the changes are in %s", layers.List[0].Upper)
	}
	run := runBoxed(t, newTestHost(t, nil).NewShell("/"), &sandbox.Spec{Layers: layers.List}, "echo 2 >> "+project+"/file; cat "+project+"/file")
	if text(run) != "1\n2\n" {
		t.Errorf("output %q", text(run))
	}
	if got := tree(t, layers.List[0].Upper)["file"]; got != "1\n2\n" {
		t.Errorf("changed to %q", got)
	}

	// An overlay on that one is one too many.
	if err := os.Mkdir(filepath.Join(base, "m2"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, base, map[string]string{"u2/x": "", "w2/x": ""})
	if err := os.Remove(filepath.Join(base, "w2/x")); err != nil {
		t.Fatal(err)
	}
	mount(t, "overlay", base+"/m2", "overlay", "lowerdir="+merged+",upperdir="+base+"/u2,workdir="+base+"/w2")
	deep, err := sandbox.NewLayers(base, base+"/m2/project")
	if err != nil {
		t.Fatal(err)
	}
	defer deep.Remove()
	_, err = newTestHost(t, nil).NewShell("/").Run(t.Context(), Request{Command: "true", Box: &sandbox.Spec{Layers: deep.List}})
	if failure, ok := sandbox.AsLayerError(err); !ok || failure.Reason != sandbox.KernelRefused || !strings.Contains(err.Error(), "overlay") {
		t.Errorf("an overlay on an overlay on an overlay: %v", err)
	}
}

func TestSweepLayersLeavesThoseInUse(t *testing.T) {
	project, store := t.TempDir(), t.TempDir()
	used, err := sandbox.NewLayers(store, project)
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(store, "haft-layers-left")
	if err := os.MkdirAll(filepath.Join(left, "0/work/work"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(left, "0/work/work"), 0); err != nil {
		t.Fatal(err)
	}
	if err := sandbox.SweepLayers(store); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a killed program left is still there: %v", err)
	}
	if _, err := os.Stat(used.List[0].Upper); err != nil {
		t.Errorf("what is in use is gone: %v", err)
	}
	if err := used.Remove(); err != nil {
		t.Error(err)
	}
}

func mount(t *testing.T, source, target, kind, data string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, 0, data); err != nil {
		t.Fatalf("mount %s: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}
