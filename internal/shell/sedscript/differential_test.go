package sedscript_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/shell/sedscript"
	"github.com/haftdev/haft/internal/test/needtest"
)

// TestRealSedWritesNothing runs random scripts that Check accepts, most of them
// with a write command that must be part of a text, in the sed of this machine.
func TestRealSedWritesNothing(t *testing.T) {
	sed := needtest.Program(t, "sed")
	runs, seed := 200, uint64(1)
	if os.Getenv("HAFT_NIGHTLY") != "" {
		runs, seed = 20_000, uint64(time.Now().UnixNano())
	}
	t.Logf("%d scripts, seed %d", runs, seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	input := filepath.Join(dir, "input")
	if err := os.WriteFile(input, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	parts := []string{"a", "i", "c", `\`, `\`, "\n", "\n", " ", "\t", "x", "w pwned", "\nw pwned", ";", "{", "}", "1", "$", "!", "s/a/b/", "s", "/", "[", "]", "y/a/b/", "#", "b", ":x", "p", ",", "e", "|", "^", "n"}
	for ran := 0; ran < runs; {
		var b strings.Builder
		for range 2 + r.IntN(10) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		script := b.String()
		if !strings.Contains(script, "w pwned") || sedscript.Check(script) != nil {
			continue
		}
		ran++
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		cmd := exec.CommandContext(ctx, sed, script, input)
		cmd.Dir = dir
		cmd.Run() // many scripts are no good to sed either, and some never end
		cancel()
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Fatalf("%q is accepted, but sed writes a file: %v %v", script, entries, err)
		}
	}
}
