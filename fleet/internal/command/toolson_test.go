//go:build linux

package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
)

// TestAWorkerKeepsTheJournalFromItsToolHost lets a worker run its tools over SSH. The machine
// there gets calls: its processes have no key of the model or the fleet and nothing that leads
// to a journal. Its questions are the run's, and a run that nobody answers for is denied them.
func TestAWorkerKeepsTheJournalFromItsToolHost(t *testing.T) {
	t.Parallel()
	haft, err := haftProgram()
	if err != nil {
		t.Fatal(err)
	}
	there := t.TempDir()
	home, dir := filepath.Join(there, "home"), filepath.Join(there, "project")
	for _, d := range []string{home, dir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sshd := needtest.StartSSHD(t, "HOME="+home, "PATH="+filepath.Dir(haft)+":/usr/bin:/bin")
	f := newFleet(t)
	f.environ = append(f.environ, "PATH="+sshd.Bin+":"+os.Getenv("PATH"))
	w := f.start("worker", "--join", f.url, "--key", f.key("worker"), "--dir", filepath.Join(f.dir, "sessions"), "--tools-on", fmt.Sprintf("ssh://127.0.0.1:%d%s", sshd.Port, dir))
	t.Cleanup(func() { kill(w) })

	var denied atomic.Bool
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		last := q.LastText()
		name, ok := strings.CutPrefix(last[strings.LastIndex(last, "\n")+1:], "MAKE ")
		if ok {
			input, _ := json.Marshal(map[string]string{"command": "touch " + name + "; while [ ! -e " + name + ".over ]; do sleep 0.05; done"})
			return script.Turn{Blocks: []script.Block{{Tool: "mcp__toolhost__Bash", Input: input}}}, true
		}
		if strings.Contains(string(q.Body), "it does not support elicitation") {
			denied.Store(true)
		}
		return script.Turn{}, false
	})
	submit := func(name string, ask bool) (id, prompt string) {
		t.Helper()
		id, prompt, err := f.runs.Submit(t.Context(), &runs.Submission{
			Dir: filepath.Join(f.dir, "project"), Args: []string{"--model=sonnet"}, Ask: ask, Prompt: runs.Prompt{Text: "MAKE " + name},
		})
		if err != nil {
			t.Fatal(err)
		}
		return id, prompt
	}
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}

	id, prompt := submit("unasked", false)
	if out, err := f.runs.Await(t.Context(), id, prompt); err != nil || out.IsError || exists("unasked") || !denied.Load() {
		t.Fatalf("outcome %+v, %v; the command ran: %v; it was denied: %v", out, err, exists("unasked"), denied.Load())
	}
	id, prompt = submit("asked", true)
	q := f.question(t, id)
	if q.Kind != runs.Elicits || q.Tool != "mcp__toolhost" || !strings.Contains(q.Title, "touch asked") {
		t.Errorf("asked %+v", q)
	}
	if err := f.runs.Answer(t.Context(), q.ID, runs.Answer{Allow: true, By: "user"}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the command", func() bool { return exists("asked") })
	f.lookAtProcesses(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "asked.over"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := f.runs.Await(t.Context(), id, prompt); err != nil || out.IsError {
		t.Fatalf("outcome %+v, %v", out, err)
	}
}

// lookAtProcesses fails if a process that works in a folder knows where the fleet keeps things,
// or a key.
func (f *fleet) lookAtProcesses(t *testing.T, dir string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	served := false
	for _, proc := range all {
		if cwd, err := os.Readlink(filepath.Join(proc, "cwd")); err != nil || cwd != dir {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(proc, "cmdline")) // it may have ended
		environ, _ := os.ReadFile(filepath.Join(proc, "environ"))
		served = served || strings.Contains(string(args), "mcp\x00serve")
		for _, secret := range []string{"ANTHROPIC", "sk-ant-scripted", f.dir, f.url} {
			if strings.Contains(string(args)+string(environ), secret) {
				t.Errorf("%s has %q: %q %q", proc, secret, args, environ)
			}
		}
	}
	if !served {
		t.Error("no haft serves tools in the folder")
	}
}
