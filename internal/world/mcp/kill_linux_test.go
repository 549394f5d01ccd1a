package mcp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/mcp"
)

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// survivors waits for processes to be gone and returns those that are not.
func survivors(all []int, within time.Duration) (left []int) {
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		left = nil
		for _, pid := range all {
			if alive(pid) {
				left = append(left, pid)
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

func TestNoServerOutlivesAKilledHarness(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), harnessEnv+"=good|leaves a grandchild|leaves a grandchild in another session|ignores the end of input and SIGTERM|never answers a call")
	if _, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all []int
	if err := json.NewDecoder(out).Decode(&all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 7 || len(survivors(all, 0)) != 7 {
		t.Fatalf("processes %v, of which %v run", all, survivors(all, 0))
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	if left := survivors(all, 2*time.Second); len(left) > 0 {
		t.Errorf("processes %v of %v live on", left, all)
	}
}

func TestShutdownIsQuickAndLeavesNothing(t *testing.T) {
	var servers []mcp.Server
	for i, mode := range []string{
		"good", "good", "good", "good", "good", "good",
		"ignores the end of input and SIGTERM", "ignores the end of input and SIGTERM",
		"leaves a grandchild", "leaves a grandchild in another session",
	} {
		s := badEntry(mode)
		s.Name = fmt.Sprint("bad", i)
		servers = append(servers, s)
	}
	h := newHost(t, nil)
	h.Start(servers)
	wait(t, h)
	all := pids(h)
	if len(all) != 12 {
		t.Fatalf("processes %v", all)
	}
	begin := time.Now()
	h.Close()
	took := time.Since(begin)
	if left := survivors(all, 0); len(left) > 0 {
		t.Errorf("processes %v live on", left)
	}
	if took > 1500*time.Millisecond {
		t.Errorf("the end of ten servers took %s", took)
	}
	t.Logf("the end of ten servers took %s", took)
}

func TestADeadlineOnConnectIsKept(t *testing.T) {
	entry := badEntry("never answers")
	entry.StartTimeout = mcp.Millis(time.Second)
	h := newHost(t, nil)
	begin := time.Now()
	h.Start([]mcp.Server{entry})
	wait(t, h)
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("a deadline of 1s took %s", took)
	}
}
