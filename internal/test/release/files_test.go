//go:build unix

package release

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// Every file that the configuration names is in the tree or made by .ci/release-files, and
// what is made has completion, man pages and the licence of every module in the program.
func TestFilesOfARelease(t *testing.T) {
	if !needtest.Thorough() {
		t.Skip("a step of .ci/run does this: set HAFT_THOROUGH=1")
	}
	needtest.Need(t, "bash", "gzip")
	dir := t.TempDir()
	make := exec.Command(".ci/release-files", dir)
	make.Dir = root
	make.Env = append(os.Environ(), "CGO_ENABLED="+goEnv(t, "CGO_ENABLED")) // what the run has compiled already; 0 in CI as in a release
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("make the files: %v\n%s", err, out)
	}
	for _, source := range sources(readConfig(t)) {
		place := filepath.Join(root, source)
		if made, ok := strings.CutPrefix(source, "release/"); ok {
			place = filepath.Join(dir, made)
		}
		if found, err := filepath.Glob(strings.ReplaceAll(place, "**", "*")); err != nil || len(found) == 0 {
			t.Errorf(".goreleaser.yaml names %s, which is not there (%v)", source, err)
		}
	}
	if out, err := exec.Command("bash", "-n", filepath.Join(dir, "completions/haft.bash")).CombinedOutput(); err != nil {
		t.Errorf("the completion for bash: %v\n%s", err, out)
	}
	if page := unzipped(t, filepath.Join(dir, "man/haft.1.gz")); !strings.Contains(page, ".SH NAME\nhaft ") {
		t.Errorf("the man page: %.200s", page)
	}
	modules := linkedModules(t)
	if len(modules) < 10 {
		t.Fatalf("only %d modules were found", len(modules))
	}
	for _, m := range append(modules, "go") {
		if files, _ := filepath.Glob(filepath.Join(dir, "licenses", m, "*")); len(files) == 0 {
			t.Errorf("the licence of %s is missing", m)
		}
	}
}

// sources are the files that the archives and packages are made of.
func sources(c config) []string {
	var out []string
	for _, f := range c.Archives[0].Files {
		if m, ok := f.(map[string]any); ok {
			f = m["src"]
		}
		out = append(out, fmt.Sprint(f))
	}
	for _, f := range c.Nfpms[0].Contents {
		out = append(out, f.Src)
	}
	return out
}

func unzipped(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// linkedModules are the modules that a built program says it is made of.
func linkedModules(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "version", "-m", haft(t)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "dep" {
			modules = append(modules, f[1])
		}
	}
	return modules
}

// haft builds the program, in CI without cgo as a release does.
func haft(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "haft")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, "./cmd/haft")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build haft: %v\n%s", err, out)
	}
	return file
}
