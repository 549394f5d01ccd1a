package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/wire/wiretest"
)

// TestOfficialSDK runs every case against haft.
func TestOfficialSDK(t *testing.T) {
	dir := installSDK(t)
	haft := build(t)
	for _, file := range caseFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".mjs"), func(t *testing.T) {
			t.Parallel()
			record := recordDir(t)
			runCases(t, dir, file, "INTEROP_EXECUTABLE="+haft, "INTEROP_RECORD="+record)
			checkLines(t, record)
		})
	}
}

// TestReference runs the cases against the official executable, so that what they
// expect of haft is what programs are used to.
func TestReference(t *testing.T) {
	claude := os.Getenv("HAFT_REFERENCE")
	if claude == "" {
		t.Skip("set HAFT_REFERENCE to the official executable to run the same cases against it")
	}
	dir := installSDK(t)
	for _, file := range caseFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".mjs"), func(t *testing.T) {
			runCases(t, dir, file, "INTEROP_EXECUTABLE="+claude, "INTEROP_REFERENCE=1", "INTEROP_PARALLEL=2", "INTEROP_TIMEOUT=120", "INTEROP_RECORD="+recordDir(t))
		})
	}
}

// TestBesideReference runs cases in which haft and the official executable do the same,
// or work on one session.
func TestBesideReference(t *testing.T) {
	claude := reference(t)
	dir := installSDK(t)
	haft := build(t)
	files, err := filepath.Glob("beside/*.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".mjs"), func(t *testing.T) {
			runCases(t, dir, file, "INTEROP_EXECUTABLE="+haft, "INTEROP_BESIDE="+claude, "INTEROP_PARALLEL=2", "INTEROP_TIMEOUT=120")
		})
	}
}

// reference is the official executable, installed by its pinned version if
// HAFT_REFERENCE does not name one.
func reference(t *testing.T) string {
	if claude := os.Getenv("HAFT_REFERENCE"); claude != "" {
		return claude
	}
	needtest.Peers(t)
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("set HAFT_REFERENCE to the official executable for this machine")
	}
	const pkg = "@anthropic-ai/claude-agent-sdk-linux-x64"
	return filepath.Join(needtest.NPM(t, pkg+"@0.3.325"), "node_modules", filepath.FromSlash(pkg), "claude")
}

// recordDir is where the lines of the cases are kept: below HAFT_INTEROP_RECORD, if
// someone wants to look at them.
func recordDir(t *testing.T) string {
	base := os.Getenv("HAFT_INTEROP_RECORD")
	if base == "" {
		return t.TempDir()
	}
	dir := filepath.Join(base, t.Name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func caseFiles(t *testing.T) []string {
	files, err := filepath.Glob("cases/*.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the cases: %v", err)
	}
	return files
}

// runCases runs the cases of a file and reports each.
func runCases(t *testing.T, dir, file string, env ...string) {
	control := serveModels(t)
	cmd := exec.CommandContext(t.Context(), "node", "run.mjs", file)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "INTEROP_CONTROL="+control), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	cases := reportCases(t, out)
	err = cmd.Wait()
	if stderr.Len() > 0 {
		t.Logf("%s", stderr.Bytes())
	}
	if err != nil || cases == 0 {
		t.Errorf("%d cases ran, then: %v", cases, err)
	}
}

func reportCases(t *testing.T, out io.Reader) (cases int) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var c struct {
			Name, Error string
			OK          bool
			MS          int
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Logf("%s", lines.Bytes())
			continue
		}
		cases++
		t.Run(c.Name, func(t *testing.T) {
			t.Logf("took %v", time.Duration(c.MS)*time.Millisecond)
			if !c.OK {
				t.Error(c.Error)
			}
		})
	}
	return cases
}

// checkLines checks what haft wrote against the schema.
func checkLines(t *testing.T, record string) {
	files, err := filepath.Glob(filepath.Join(record, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	check := wiretest.NewChecker()
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n")) {
			if len(line) == 0 {
				continue
			}
			if err := check.Line(line); err != nil {
				t.Errorf("%s, line %d: %v", filepath.Base(f), i+1, err)
			}
		}
	}
}

// installSDK returns a folder with the suite and the packages it needs. The
// executables of the official command line are large, and not needed for haft.
func installSDK(t testing.TB) string {
	modules := needtest.Locked(t, os.DirFS("."), "--omit=optional")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}
