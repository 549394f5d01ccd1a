//go:build unix

package sysprompt

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process that exits right after Stop leaves no git running.
func TestStopWaitsForGit(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	started := filepath.Join(bin, "started")
	git := "#!/bin/sh\necho $$ > " + started + ".new && mv " + started + ".new " + started + "\nexec sleep 60\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(git), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	a := lookAhead(dir, time.Minute)
	var text []byte
	for end := time.Now().Add(30 * time.Second); len(text) == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		text, _ = os.ReadFile(started)
	}
	a.Stop()
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("git still runs")
	}
}
