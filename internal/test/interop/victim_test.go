//go:build linux

package interop_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/wire/wiretest"
)

// patience is how long haft may take to end. Two seconds are promised; a machine
// that does much else at the same time gets some more.
const patience = 4 * time.Second

// A victim is a haft that a test treats badly.
type victim struct {
	t     *testing.T
	dir   string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	lines chan map[string]any

	mu   sync.Mutex
	seen []map[string]any
	done chan struct{} // closed when it has ended
}

// torment starts haft with a scripted model. It reads what haft says unless deaf.
func torment(t *testing.T, deaf bool, turns ...script.Turn) *victim {
	t.Helper()
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	v := &victim{t: t, dir: realDir(t), lines: make(chan map[string]any, 10000), done: make(chan struct{})}
	v.cmd = command(t, v.dir, srv.URL())
	if v.in, err = v.cmd.StdinPipe(); err == nil {
		v.out, err = v.cmd.StdoutPipe()
	}
	if err == nil {
		err = v.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.cmd.Process.Kill(); <-v.done })
	if deaf {
		go v.wait()
	} else {
		go v.listen()
	}
	return v
}

func realDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func command(t *testing.T, dir, url string) *exec.Cmd {
	cmd := exec.Command(build(t), "--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--permission-prompt-tool=stdio", "--model=sonnet")
	cmd.Dir = filepath.Join(dir, "project")
	if err := os.MkdirAll(cmd.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-ant-scripted", "CLAUDE_CODE_SDK_READS_SESSION_STATE=1"}
	return cmd
}

func (v *victim) wait() {
	v.cmd.Wait()
	close(v.done)
}

// listen keeps what haft says, and checks that it is said properly.
func (v *victim) listen() {
	check := wiretest.NewChecker()
	in := bufio.NewReaderSize(v.out, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		if err := check.Line(line); err != nil {
			v.t.Errorf("%v", err)
		}
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			v.t.Errorf("not JSON: %s", line)
		}
		v.mu.Lock()
		v.seen = append(v.seen, m)
		v.mu.Unlock()
		v.lines <- m
	}
	close(v.lines)
	v.wait()
}

func (v *victim) send(messages ...string) {
	for _, m := range messages {
		io.WriteString(v.in, m+"\n") // it may be gone
	}
}

const (
	initialize = `{"type":"control_request","request_id":"i1","request":{"subtype":"initialize","systemPrompt":[""],"hooks":{"PreToolUse":[{"hookCallbackIds":["hook_0"]}]}}}`
	prompt     = `{"type":"user","session_id":"","message":{"role":"user","content":[{"type":"text","text":"go"}]},"parent_tool_use_id":null}`
)

// answer answers what haft asks.
func (v *victim) answer(m map[string]any) {
	if m["type"] != "control_request" {
		return
	}
	request := m["request"].(map[string]any)
	reply := `{}`
	if request["subtype"] == "can_use_tool" {
		reply = `{"behavior":"allow"}`
	}
	v.send(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`, m["request_id"], reply))
}

// until reads on, answering, to a message of a type, and returns it.
func (v *victim) until(kind string, answer bool) map[string]any {
	v.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case m, ok := <-v.lines:
			if !ok {
				v.t.Fatalf("haft ended before a message of the type %s", kind)
			}
			if m["type"] == kind || m["subtype"] == kind {
				return m
			}
			if request, ok := m["request"].(map[string]any); ok && request["subtype"] == kind {
				return m
			}
			if answer {
				v.answer(m)
			}
		case <-late:
			v.t.Fatalf("no message of the type %s came", kind)
		}
	}
}

// ends waits for the end, which must come in time, and returns the exit code.
// Nothing that haft has started may be left.
func (v *victim) ends() int {
	v.t.Helper()
	return v.endsWithin(patience)
}

// endsWithin is ends for haft with something left to say, which takes its time.
func (v *victim) endsWithin(limit time.Duration) int {
	v.t.Helper()
	began := time.Now()
	select {
	case <-v.done:
	case <-time.After(limit):
		v.t.Fatalf("haft still runs after %v", limit)
	}
	v.t.Logf("it ended after %v", time.Since(began).Round(time.Millisecond))
	nobody(v.t, v.dir)
	return v.cmd.ProcessState.ExitCode()
}

func (v *victim) results() (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range v.seen {
		if m["type"] == "result" {
			n++
		}
	}
	return n
}

// oneResult checks that a turn that ran has exactly one result.
func (v *victim) oneResult() {
	v.t.Helper()
	turns := 0
	v.mu.Lock()
	for _, m := range v.seen {
		if m["subtype"] == "init" {
			turns++
		}
	}
	v.mu.Unlock()
	if n := v.results(); n != turns {
		v.t.Errorf("%d turns have %d results", turns, n)
	}
}

// nobody fails if a process works below a folder: commands and servers of a haft do.
func nobody(t *testing.T, dir string) {
	t.Helper()
	deadline := time.Now().Add(time.Second)
	for {
		left := processesIn(dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("left running: %v", left)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func processesIn(dir string) (list []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd")
		if err != nil || cwd != dir && !strings.HasPrefix(cwd, dir+"/") {
			continue
		}
		state, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		if strings.Contains(string(state), ") Z ") {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		list = append(list, e.Name()+" "+strings.ReplaceAll(string(line), "\x00", " "))
	}
	return list
}

// last returns the newest request of a kind.
func (v *victim) last(kind string) (found map[string]any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range v.seen {
		if request, ok := m["request"].(map[string]any); ok && request["subtype"] == kind {
			found = m
		}
	}
	return found
}

// await waits for a file that a command makes.
func (v *victim) await(name string) {
	v.t.Helper()
	for range 1000 {
		if _, err := os.Stat(filepath.Join(v.cmd.Dir, name)); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	v.t.Fatalf("%s was not made", name)
}
