//go:build unix

package haft_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/haftdev/haft"
	_ "github.com/haftdev/haft/internal/cli" // so that go test has compiled it when these tests build haft, and not both at once
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/wire/wiretest"
)

// A commandLine is a real one: ours, or the official one.
type commandLine struct {
	path string
	ours bool
}

// eachCommandLine runs a test with both.
func eachCommandLine(t *testing.T, f func(*testing.T, commandLine)) {
	t.Run("haft", func(t *testing.T) {
		leakless(t)
		path, err := builtHaft()
		if err != nil {
			t.Fatal(err)
		}
		f(t, commandLine{path, true})
	})
	t.Run("official", func(t *testing.T) {
		leakless(t)
		f(t, commandLine{official(t), false})
	})
}

// options start the command line with a scripted model, and nothing of the
// person who runs the tests.
func (cli commandLine) options(t testing.TB, s *script.Server) *haft.Options {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	return &haft.Options{
		CLI: cli.path,
		Dir: dir,
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CLAUDE_CONFIG_DIR=" + home, "TMPDIR=" + os.TempDir(), "IS_SANDBOX=1",
			"ANTHROPIC_API_KEY=test", "ANTHROPIC_BASE_URL=" + s.URL(), "CLAUDE_CODE_MAX_RETRIES=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		},
		Model: "claude-sonnet-4-5",
	}
}

// check holds a line against the schema. What the official one says beyond it is
// no failure: newer versions say more.
func (cli commandLine) check(c *wiretest.Checker, line []byte) error {
	if cli.ours {
		return c.Line(line)
	}
	return c.Foreign(line)
}

// builtHaft is our command line, built on first use.
var builtHaft = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "haft")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "./cmd/haft").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build haft: %w\n%s", err, out)
	}
	return path, nil
})

// officialVersion is that of the SDK whose command line is driven here.
const officialVersion = "0.3.325"

// official is the official command line.
func official(t testing.TB) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	name := "@anthropic-ai/claude-agent-sdk-" + runtime.GOOS + "-" + arch
	return filepath.Join(needtest.NPM(t, name+"@"+officialVersion), "node_modules", filepath.FromSlash(name), "claude")
}
