//go:build unix

package headless_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/session"
)

// Another process continues the session while a command runs, as happens when a worker was
// taken for dead. The turn ends with one typed result, the commands are ended, those in the
// background included, and nothing more is written.
func TestATakenOverSessionEnds(t *testing.T) {
	opts, dir := stage(t, "--permission-mode=bypassPermissions", `{"turns":[
		{"blocks":[{"tool":"Bash","input":{"command":"echo $$ >background; exec sleep 300","run_in_background":true}}]},
		{"blocks":[{"tool":"Bash","input":{"command":"echo $$ >foreground; while [ ! -e on ]; do sleep 0.05; done; sleep 0.2"}}]},
		{"blocks":[{"text":"nobody may read this"}]}]}`)
	logs := sessiontest.NewMemory()
	opts.Talk.Sessions = session.OpenLogs(logs, filepath.Join(dir, "local"))
	opts.Talk.ID = session.NewUUID()
	p := newPlayer(t, opts)
	p.write(`{"type":"user","message":{"role":"user","content":"begin"},"parent_tool_use_id":null,"session_id":""}`)
	p.write(`{"type":"user","message":{"role":"user","content":"and then"},"parent_tool_use_id":null,"session_id":"","priority":"later"}`)
	at := func(name string) string { return filepath.Join(opts.Harness.Dir, name) }
	commands := []int{pidIn(t, at("background")), pidIn(t, at("foreground"))}

	taker := sessiontest.Resume(t, session.OpenLogs(logs, t.TempDir()), opts.Talk.ID, nil)
	sessiontest.Add(t, taker, sessiontest.Prompt("continued elsewhere"))
	if err := os.WriteFile(at("on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.readOn("") // it ends by itself, although the program says nothing more
	if code := <-p.code; code != 1 {
		t.Errorf("exit code %d", code)
	}
	var results []map[string]any
	for _, m := range p.said {
		if m["type"] == "result" {
			results = append(results, m)
		}
	}
	if len(results) != 1 || results[0]["terminal_reason"] != "session_taken_over" || results[0]["is_error"] != true {
		t.Errorf("results %v", results)
	}
	for _, pid := range commands {
		wait(t, "a command to end", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
	sessiontest.Close(t, taker)
	h := sessiontest.Resume(t, session.OpenLogs(logs, t.TempDir()), opts.Talk.ID, nil).Restored().History
	if last := strings.Join(sessiontest.Show(t, h), "\n"); !strings.HasSuffix(last, "continued elsewhere") || !strings.Contains(last, "outcome is unknown") {
		t.Errorf("the conversation is\n%s", last)
	}
}

// Another process continues the session while this one opens it: the result says that, and not
// that the prompt has failed.
func TestASessionTakenOverWhileItOpens(t *testing.T) {
	opts, dir := stage(t, "", `{"turns":[{"blocks":[{"text":"nobody may read this"}]}]}`)
	logs := sessiontest.NewMemory()
	id := session.NewUUID()
	overtaken := &overtakenLogs{Memory: logs, takeOver: func() {
		taker := sessiontest.Create(t, session.OpenLogs(logs, t.TempDir()), &session.CreateOptions{ID: id})
		sessiontest.Add(t, taker, sessiontest.Prompt("begun elsewhere"))
		sessiontest.Close(t, taker)
	}}
	opts.Talk.Sessions, opts.Talk.ID, opts.Talk.Title = session.OpenLogs(overtaken, filepath.Join(dir, "local")), id, "a title, which is written at once"
	p := newPlayer(t, opts)
	p.write(`{"type":"user","message":{"role":"user","content":"go on"},"parent_tool_use_id":null,"session_id":""}`)
	p.readOn("")
	<-p.code
	var reasons []any
	for _, m := range p.said {
		if m["type"] == "result" {
			reasons = append(reasons, m["terminal_reason"])
		}
	}
	if len(reasons) != 1 || reasons[0] != "session_taken_over" {
		t.Errorf("the results are %v", reasons)
	}
}

// overtakenLogs let another writer append right after a log was opened.
type overtakenLogs struct {
	*sessiontest.Memory
	takeOver func()
	once     sync.Once
}

func (l *overtakenLogs) Open(ctx context.Context, id, agent string) (session.Log, session.Pos, error) {
	log, pos, err := l.Memory.Open(ctx, id, agent)
	l.once.Do(l.takeOver)
	return log, pos, err
}

// pidIn waits for a process to write its number.
func pidIn(t *testing.T, path string) (pid int) {
	t.Helper()
	wait(t, path, func() bool {
		raw, err := os.ReadFile(path)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(raw)))
		}
		return err == nil
	})
	return pid
}

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
