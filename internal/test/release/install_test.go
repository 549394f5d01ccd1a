package release

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// The go command takes the module as a proxy would serve it: it refuses names of files
// that some system cannot have, and sizes. With HAFT_NIGHTLY it is installed from there.
func TestGoInstall(t *testing.T) {
	const module, version = "github.com/haftdev/haft", "v1.2.3"
	proxy := t.TempDir()
	serve(t, filepath.Join(proxy, module, "@v"), module, version)
	run := func(args ...string) string {
		t.Helper()
		c := exec.Command("go", args...)
		c.Dir = t.TempDir()
		c.Env = append(os.Environ(), "GOPROXY="+fileURL(proxy)+","+fileURL(goEnv(t, "GOMODCACHE")+"/cache/download"), "GOMODCACHE="+filepath.Join(proxy, "cache"),
			"GONOSUMDB=*", "GONOSUMCHECK=1", "GOSUMDB=off", "GOFLAGS=-modcacherw -trimpath", "GOBIN="+filepath.Join(proxy, "bin"), "CGO_ENABLED=0")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if out := run("mod", "download", "-json", module+"@"+version); !strings.Contains(out, `"Version": "`+version+`"`) {
		t.Errorf("downloaded: %s", out)
	}
	if !needtest.Nightly() {
		return
	}
	run("install", module+"/cmd/haft@"+version)
	out, err := exec.Command(filepath.Join(proxy, "bin", "haft"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "haft version 1.2.3\n") {
		t.Errorf("the installed program: %v\n%s", err, out)
	}
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// serve lays the module out as the protocol of proxies has it: without what belongs to
// modules of its own.
func serve(t *testing.T, dir, module, version string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	put("list", []byte(version+"\n"))
	put(version+".mod", mod)
	put(version+".info", fmt.Appendf(nil, `{"Version":%q,"Time":"2026-11-16T00:00:00Z"}`, version))
	file, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := zip.NewWriter(file)
	for _, name := range moduleFiles(t) {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		entry, err := w.Create(module + "@" + version + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// moduleFiles are the regular files of the tree that belong to its module.
func moduleFiles(t *testing.T) []string {
	t.Helper()
	needtest.Need(t, needtest.Checkout)
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git says which files are ours: %v", err)
	}
	all := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	nested := map[string]bool{}
	for _, name := range all {
		if path.Base(name) == "go.mod" && name != "go.mod" {
			nested[path.Dir(name)] = true
		}
	}
	var files []string
	for _, name := range all {
		info, err := os.Lstat(filepath.Join(root, name))
		if err == nil && info.Mode().IsRegular() && !within(name, nested) {
			files = append(files, name)
		}
	}
	return files
}

func within(name string, dirs map[string]bool) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}
