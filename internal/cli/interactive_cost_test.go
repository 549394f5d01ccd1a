//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// TestALongSessionIsCheap resumes a session of 10,000 messages: what it holds, and
// what it does while nothing happens.
func TestALongSessionIsCheap(t *testing.T) {
	s := newSeat(t)
	t.Setenv("HOME", s.home)
	writeSession(t, s.dir, 10_000)
	begin := time.Now()
	s.start("--continue")
	s.see("end of the earlier conversation")
	took := time.Since(begin)
	time.Sleep(500 * time.Millisecond) // what opening left to do
	rss, busy := s.rss(), s.cpu()
	time.Sleep(2 * time.Second)
	share := float64(s.cpu()-busy) / float64(2*time.Second) * 100
	t.Logf("10,000 messages: resumed in %v, %d MB resident, %.2f%% of a core while idle", took, rss>>20, share)
	if rss > 150<<20 {
		t.Errorf("%d MB are resident, want at most 150", rss>>20)
	}
	if share > 0.5 {
		t.Errorf("%.2f%% of a core while nothing happens, want at most 0.5", share)
	}
	s.leave()
}

func writeSession(t *testing.T, dir string, n int) {
	t.Helper()
	j, err := session.Open("").Create(t.Context(), &session.CreateOptions{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var entries []session.Entry
	for i := range n {
		role := model.User
		if i%2 == 1 {
			role = model.Assistant
		}
		entries = append(entries, session.Entry{Message: &session.Message{Role: role, Content: []model.Block{model.TextOf(fmt.Sprintf("message %d: %s", i, strings.Repeat("some words ", 30)))}}})
	}
	if err := j.Append(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
}

// rss is the resident memory of the process.
func (s *seat) rss() int {
	fields := s.proc("statm")
	pages, err := strconv.Atoi(fields[1])
	if err != nil {
		s.t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// cpu is the time that the process has computed, to a hundredth of a second.
func (s *seat) cpu() time.Duration {
	fields := s.proc("stat")
	user, _ := strconv.Atoi(fields[13])
	system, _ := strconv.Atoi(fields[14])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (s *seat) proc(name string) []string {
	s.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.cmd.Process.Pid, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Fields(string(raw))
}
