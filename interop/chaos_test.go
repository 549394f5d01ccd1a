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
	"syscall"
	"testing"
	"time"

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
	srv, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: turns}})
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
	late := time.After(20 * time.Second)
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
	began := time.Now()
	select {
	case <-v.done:
	case <-time.After(patience):
		v.t.Fatalf("haft still runs after %v", patience)
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

func says(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }

func runs(command string) script.Turn {
	input, _ := json.Marshal(map[string]string{"command": command})
	return script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: input}}}
}

func TestInputThatEndsAtEveryMessage(t *testing.T) {
	turns := []script.Turn{runs("touch made"), says("Done.")}
	whole := torment(t, false, turns...)
	whole.send(initialize, prompt)
	whole.until("result", true)
	whole.in.Close()
	if code := whole.ends(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for k := range len(whole.seen) + 1 {
		t.Run(fmt.Sprintf("after %d messages", k), func(t *testing.T) {
			t.Parallel()
			v := torment(t, false, turns...)
			v.send(initialize, prompt)
			for range k {
				if m, ok := <-v.lines; ok {
					v.answer(m)
				}
			}
			v.in.Close()
			v.ends()
			v.oneResult()
			if v.results() != 1 {
				t.Errorf("%d results", v.results())
			}
		})
	}
}

func TestProgramThatStopsReading(t *testing.T) {
	long := runs("head -c 20000 /dev/zero | tr '\\0' x")
	var turns []script.Turn
	for range 40 {
		turns = append(turns, long)
	}
	v := torment(t, true, turns...)
	v.send(strings.Replace(initialize, `,"hooks":{"PreToolUse":[{"hookCallbackIds":["hook_0"]}]}`, "", 1))
	v.send(`{"type":"control_request","request_id":"m","request":{"subtype":"set_permission_mode","mode":"acceptEdits"}}`, prompt)
	time.Sleep(300 * time.Millisecond) // it writes until the pipe is full, or asks
	v.in.Close()
	v.ends()
}

func TestGarbage(t *testing.T) {
	for name, line := range map[string]string{"no JSON": "hello", "half an object": `{"type":"user","mess`, "a list": `[1,2]`, "bytes": "\x00\xff\xfe"} {
		t.Run(name+" while nothing runs", func(t *testing.T) {
			t.Parallel()
			v := torment(t, false, says("never"))
			v.send(initialize)
			v.until("control_response", true)
			v.send(line)
			if code := v.ends(); code != 1 {
				t.Errorf("exit code %d", code)
			}
		})
		t.Run(name+" while a command runs", func(t *testing.T) {
			t.Parallel()
			v := torment(t, false, runs("touch made; sleep 60"), says("never"))
			v.send(initialize, prompt)
			v.until("can_use_tool", true)
			v.answer(v.last("can_use_tool"))
			v.await("made")
			v.send(line)
			if code := v.ends(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			v.oneResult()
		})
	}
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

func TestHalfALineAtTheEnd(t *testing.T) {
	v := torment(t, false, says("Done."))
	v.send(initialize, prompt)
	v.until("result", true)
	io.WriteString(v.in, `{"type":"user","message":{"ro`)
	v.in.Close()
	v.ends()
	v.oneResult()
}

func TestLinesOf50MB(t *testing.T) {
	big := strings.Repeat("x", 50<<20)
	v := torment(t, false, says("Done."))
	v.send(initialize, `{"type":"something_new","text":"`+big+`"}`, `{"type":"control_request","request_id":"big","request":{"subtype":"read_file","path":"`+big+`"}}`, prompt)
	if r := v.until("result", true); r["result"] != "Done." {
		t.Errorf("result %v", r["result"])
	}
	v.in.Close()
	if code := v.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestInitializeTwice(t *testing.T) {
	v := torment(t, false, runs("touch made"), says("Done."))
	v.send(initialize, initialize, prompt)
	v.until("can_use_tool", true)
	v.send(initialize)
	v.answer(v.last("can_use_tool"))
	v.until("result", true)
	v.in.Close()
	if code := v.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	answers := 0
	for _, m := range v.seen {
		if m["type"] == "control_response" {
			answers++
		}
	}
	if answers != 3 {
		t.Errorf("%d answers to initialize, want 3", answers)
	}
	v.oneResult()
}

func TestAnswersThatNeverCome(t *testing.T) {
	for _, question := range []string{"can_use_tool", "hook_callback"} {
		t.Run(question, func(t *testing.T) {
			t.Parallel()
			v := torment(t, false, runs("touch made"), says("Done."))
			v.send(initialize, prompt)
			if question == "can_use_tool" {
				v.answer(v.until("hook_callback", false))
			}
			v.until(question, false)
			v.in.Close()
			v.ends()
			v.oneResult()
			if _, err := os.Stat(filepath.Join(v.cmd.Dir, "made")); err == nil && question == "can_use_tool" {
				t.Error("what nobody allowed was run")
			}
		})
	}
}

func TestAnswersThatComeLate(t *testing.T) {
	v := torment(t, false, runs("touch made"), says("After."))
	v.send(initialize, prompt)
	v.answer(v.until("hook_callback", false))
	question := v.until("can_use_tool", false)
	v.send(`{"type":"control_request","request_id":"stop","request":{"subtype":"interrupt"}}`)
	v.until("result", false)
	v.answer(question)
	v.answer(question)
	v.send(prompt)
	v.until("result", true)
	v.in.Close()
	v.ends()
	v.oneResult()
	if _, err := os.Stat(filepath.Join(v.cmd.Dir, "made")); err == nil {
		t.Error("a call ran that was interrupted")
	}
}

func TestSignals(t *testing.T) {
	for _, c := range []struct {
		signal  syscall.Signal
		code    int
		results int
	}{{syscall.SIGINT, 0, 1}, {syscall.SIGTERM, 143, 0}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			t.Parallel()
			v := torment(t, false, runs("touch made; sleep 60"), says("never"))
			v.send(initialize, prompt)
			v.answer(v.until("hook_callback", false))
			v.answer(v.until("can_use_tool", false))
			v.await("made")
			v.cmd.Process.Signal(c.signal)
			if code := v.ends(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if n := v.results(); n != c.results && c.signal == syscall.SIGINT {
				t.Errorf("%d results, want %d", n, c.results)
			}
		})
	}
}

// parentOf makes this test binary a program that starts haft and dies.
const parentOf = "INTEROP_PARENT_OF"

func TestParentThatIsKilled(t *testing.T) {
	srv, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{runs("touch made; sleep 60")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	dir := realDir(t)
	haft := command(t, dir, srv.URL())
	parent := exec.Command(os.Args[0])
	parent.Env = append(haft.Env, parentOf+"="+strings.Join(append(haft.Args, "--dangerously-skip-permissions"), "\n"), "IS_SANDBOX=1")
	parent.Dir = haft.Dir
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer parent.Wait()
	v := &victim{t: t, dir: dir, cmd: haft}
	v.await("made")
	parent.Process.Kill()
	began := time.Now()
	for len(processesIn(dir)) > 0 {
		if time.Since(began) > patience {
			t.Fatalf("left running: %v", processesIn(dir))
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("all ended after %v", time.Since(began).Round(time.Millisecond))
}

// beParent starts haft, sends a prompt and waits to be killed.
func beParent(args []string) {
	cmd := exec.Command(args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	if _, err := cmd.StdoutPipe(); err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	io.WriteString(in, prompt+"\n")
	select {}
}
