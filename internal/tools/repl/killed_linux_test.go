package repl_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// victim is a harness with an interpreter and a child of that, which waits to be
// killed.
func victim() {
	r := newRawRig(&shellrun.Options{}, nil)
	for _, in := range []repl.Input{
		{Language: "python", Code: "import os, subprocess; print(os.getpid(), subprocess.Popen(['sleep', '600']).pid)"},
		{Language: "javascript", Code: "console.log(process.pid, require('child_process').spawn('sleep', ['600']).pid)"},
	} {
		result, err := r.call(context.Background(), in, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Output.(repl.Output).Output)
	}
	needtest.Hang()
}

func TestInterpretersEndWithAKilledHarness(t *testing.T) {
	needtest.Program(t, "python3")
	needtest.Program(t, "node")
	harness := exec.Command(os.Args[0])
	harness.Env = append(os.Environ(), "HAFT_REPL_VICTIM=1")
	out, err := harness.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var pids []int
	for len(pids) < 4 && lines.Scan() {
		var a, b int
		if _, err := fmt.Sscan(lines.Text(), &a, &b); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		pids = append(pids, a, b)
	}
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait()
	if len(pids) < 4 {
		t.Fatalf("processes %v", pids)
	}
	deadline := time.Now().Add(20 * time.Second)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d is still there", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// alive reports whether a process runs; one that is dead and not waited for does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
