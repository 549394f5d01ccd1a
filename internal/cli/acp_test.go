//go:build unix

package cli_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// An editor runs haft acp.
type editor struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	dir     string
	session string
}

// waits is a model that runs a command which takes minutes.
var waits = []script.Turn{
	{Blocks: []script.Block{{Tool: "Bash", ID: "toolu_1", Input: json.RawMessage(`{"command":"echo $$ > pid; (sleep 300 &) ; sleep 300","description":"Wait"}`)}}},
	{Blocks: []script.Block{{Text: "over"}}},
}

func newEditor(t *testing.T, turns []script.Turn, args ...string) *editor {
	t.Helper()
	server, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	home := t.TempDir()
	e := &editor{t: t, dir: t.TempDir(), cmd: exec.Command(haftCommand(t), append([]string{"acp", "--preview", "off"}, args...)...)}
	e.cmd.Dir = home // an editor starts its agents anywhere
	e.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/.cache", "XDG_CONFIG_HOME="+home+"/.config", "ANTHROPIC_BASE_URL="+server.URL(), "ANTHROPIC_API_KEY=x")
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	e.out = bufio.NewReader(out)
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *editor) say(format string, args ...any) {
	e.t.Helper()
	if _, err := fmt.Fprintf(e.in, format+"\n", args...); err != nil {
		e.t.Fatal(err)
	}
}

// hear reads to a line that has a text in it. All lines are messages.
func (e *editor) hear(text string) string {
	e.t.Helper()
	for {
		line, err := e.out.ReadString('\n')
		if err != nil {
			e.t.Fatalf("no %s: %v", text, err)
		}
		if !json.Valid([]byte(line)) || !strings.HasPrefix(line, `{"jsonrpc":"2.0"`) {
			e.t.Fatalf("it is no message: %q", line)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// run begins a session in which a command runs, and returns the process of that.
func (e *editor) run() (pid int) {
	e.t.Helper()
	e.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	e.hear(`"id":1`)
	e.say(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, e.dir)
	var opened struct{ Result struct{ SessionID string } }
	if err := json.Unmarshal([]byte(e.hear(`"id":2`)), &opened); err != nil {
		e.t.Fatal(err)
	}
	e.session = opened.Result.SessionID
	e.say(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, e.session)
	e.hear("session/request_permission")
	e.say(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		raw, _ := os.ReadFile(filepath.Join(e.dir, "pid"))
		if _, err := fmt.Sscan(string(raw), &pid); err == nil {
			return pid
		}
	}
	e.t.Fatal("the command never ran")
	return 0
}

// TestTheCommandAsAnEditorUsesIt runs haft acp as a process: it writes nothing but messages,
// and however the editor or haft ends, nothing that it started is left.
func TestTheCommandAsAnEditorUsesIt(t *testing.T) {
	for name, end := range map[string]func(*editor){
		"the turn is cancelled and the editor closed": func(e *editor) {
			e.say(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, e.session)
			e.hear(`"stopReason":"cancelled"`)
			e.in.Close()
		},
		"the editor is closed": func(e *editor) { e.in.Close() },
		"the editor stops reading and dies": func(e *editor) {
			e.cmd.Process.Signal(syscall.SIGSTOP)
			e.in.Close()
			e.cmd.Process.Signal(syscall.SIGCONT)
		},
		"haft is told to end": func(e *editor) { e.cmd.Process.Signal(syscall.SIGTERM) },
		"haft is killed":      func(e *editor) { e.cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEditor(t, waits)
			pid := e.run()
			began := time.Now()
			end(e)
			go io.Copy(io.Discard, e.out)
			err := e.cmd.Wait()
			if killed := strings.HasPrefix(name, "haft is"); (err != nil) != killed {
				t.Errorf("it ended with %v", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v to end", took)
			}
			for late := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(late) {
					t.Fatalf("process %d is left", pid)
				}
			}
		})
	}
}

func TestFlagsOfACP(t *testing.T) {
	e := newEditor(t, waits, "--permission-mode", "plan", "--model", "haiku")
	e.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	e.hear(`"id":1`)
	e.say(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, e.dir)
	if line := e.hear(`"id":2`); !strings.Contains(line, `"currentModeId":"plan"`) || !strings.Contains(line, `"currentValue":"claude-haiku`) {
		t.Errorf("the session begins with %s", line)
	}
	e.in.Close()
	if err := e.cmd.Wait(); err != nil {
		t.Error(err)
	}
	out, err := exec.Command(haftCommand(t), "acp", "--resume", "x").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "unknown flag") {
		t.Errorf("a flag that the editor's requests stand for: %v, %s", err, out)
	}
	if out, err = exec.Command(haftCommand(t), "acp", "--setup").CombinedOutput(); err == nil || !strings.Contains(string(out), "--setup needs a terminal") {
		t.Errorf("setup without a terminal: %v, %s", err, out)
	}
}

// TestServersOfTheEditor calls a tool of an MCP server that the editor brings.
func TestServersOfTheEditor(t *testing.T) {
	e := newEditor(t, []script.Turn{
		{Blocks: []script.Block{{Tool: "mcp__mine__Glob", ID: "toolu_1", Input: json.RawMessage(`{"pattern":"*.txt"}`)}}}, {Blocks: []script.Block{{Text: "found"}}},
	}, "--allowedTools", "mcp__mine")
	if err := os.WriteFile(filepath.Join(e.dir, "found.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	e.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	e.hear(`"id":1`)
	e.say(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[{"name":"mine","command":%q,"args":["mcp","serve","--tools","Glob"],"env":[{"name":"HOME","value":%q}]}]}}`,
		e.dir, haftCommand(t), t.TempDir())
	var opened struct{ Result struct{ SessionID string } }
	if err := json.Unmarshal([]byte(e.hear(`"id":2`)), &opened); err != nil {
		t.Fatal(err)
	}
	e.say(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, opened.Result.SessionID)
	if line := e.hear(`"status":"completed"`); !strings.Contains(line, "found.txt") || !strings.Contains(line, "toolu_1") {
		t.Errorf("the call ends with %s", line)
	}
	e.hear(`"stopReason":"end_turn"`)
	e.in.Close()
	if err := e.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestLogoutOfTheEditor forgets the key that was saved, and says so if the key is from elsewhere.
func TestLogoutOfTheEditor(t *testing.T) {
	home := t.TempDir()
	saved := filepath.Join(home, ".haft", "credentials.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(saved), 0o700), os.WriteFile(saved, []byte(`{"ANTHROPIC_API_KEY":"sk-saved"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	say := func(env ...string) map[string]string {
		cmd := exec.Command(haftCommand(t), "acp")
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, env...)
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":2,"method":"logout","params":{}}
{"jsonrpc":"2.0","id":3,"method":"authenticate","params":{"methodId":"haft-setup"}}
`)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		answers := map[string]string{}
		for line := range strings.Lines(string(out)) {
			var m struct{ ID json.RawMessage }
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			answers[string(m.ID)] = line
		}
		return answers
	}
	foreign := say("ANTHROPIC_API_KEY=sk-mine")
	if !strings.Contains(foreign["2"], "ANTHROPIC_API_KEY is set in haft's environment") || !strings.Contains(foreign["3"], `"result":{}`) {
		t.Errorf("a key of the environment: %v", foreign)
	}
	if _, err := os.Stat(saved); err != nil {
		t.Error(err)
	}
	own := say()
	if !strings.Contains(own["1"], `"auth":{"logout":{}}`) || !strings.Contains(own["1"], `"authMethods":[]`) || !strings.Contains(own["2"], `"result":{}`) || !strings.Contains(own["3"], "-32000") {
		t.Errorf("the saved key: %v", own)
	}
	if _, err := os.Stat(saved); !os.IsNotExist(err) {
		t.Errorf("what was saved is left: %v", err)
	}
}
