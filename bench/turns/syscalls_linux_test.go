package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// TestSystemCallsOfATurn counts what a turn asks of the kernel that does not depend on how busy the machine is: looks at
// files, writes, syncs and started programs, those of the command included. The bounds leave some room; a
// command that is one program must not start a shell. Raise a bound only with a reason in bench/README.md.
func TestSystemCallsOfATurn(t *testing.T) {
	strace := needtest.Program(t, "strace")
	built, err := buildOurs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for work, most := range map[string]map[string]float64{
		"read": {"total": 20, "write": 9, "execve": 0.1, "fdatasync": 1.5},
		"bash": {"total": 300, "write": 15, "execve": 1.1, "fdatasync": 1.5},
	} {
		const turns = 20
		few, many := traced(t, built[0], strace, work, 1), traced(t, built[0], strace, work, 1+turns)
		for name, bound := range most {
			each := float64(many[name]-few[name]) / turns
			t.Logf("a %s turn: %s %.1f, at most %v", work, name, each, bound)
			if each > bound {
				t.Errorf("a %s turn makes %.1f system calls (%s), more than %v", work, each, name, bound)
			}
		}
	}
}

// traced plays turns and counts the system calls, by name.
func traced(t *testing.T, p *player, strace, work string, turns int) map[string]int {
	t.Helper()
	counts := filepath.Join(t.TempDir(), "counts")
	watched := *p
	watched.path, watched.args = strace, append([]string{"-f", "-qq", "-c", "-o", counts, "-e", "trace=%file,write,fdatasync", p.path}, p.args...)
	if _, _, err := play(t.Context(), &watched, work, turns, files); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(counts)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line) // % time, seconds, usecs/call, calls, errors or nothing, syscall
		if len(fields) < 5 {
			continue
		}
		if n, err := strconv.Atoi(fields[3]); err == nil {
			found[fields[len(fields)-1]] = n
		}
	}
	if found["total"] == 0 || found["execve"] == 0 {
		t.Fatalf("strace counted nothing:\n%s", raw)
	}
	return found
}
