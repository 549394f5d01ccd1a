//go:build unix

package cli_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
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

// A lineTerminal is one that talks line by line.
type lineTerminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	said chan string
}

// startLines starts haft with a pipe for its lines.
func startLines(t *testing.T, env []string, args ...string) *lineTerminal {
	t.Helper()
	l := &lineTerminal{t: t, cmd: exec.Command(haftCommand(t), args...), said: make(chan string, 1000)}
	l.cmd.Env = env
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.cmd.Stderr = l.cmd.Stdout
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.cmd.Process.Kill() })
	go func() {
		defer close(l.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			l.said <- lines.Text()
		}
	}()
	return l
}

// see waits for a line that has a text.
func (l *lineTerminal) see(text string) string {
	l.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case line, ok := <-l.said:
			if !ok {
				l.t.Fatalf("it ended without %q", text)
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-limit:
			l.t.Fatalf("%q was not shown", text)
		}
	}
}

// answer writes a line when it counts as an answer: what is typed in the first moment of a
// question was not meant for it.
func (l *lineTerminal) answer(line string) {
	l.t.Helper()
	time.Sleep(2 * time.Second)
	if _, err := io.WriteString(l.in, line+"\n"); err != nil {
		l.t.Fatal(err)
	}
}

// Two terminals are attached to one session, by the address of its server and by its own
// channel. Both are asked. The answer of one counts, the other is told, and a denial with a
// reason reaches the model.
func TestAnswersOfAttachedTerminals(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) script.Turn {
		input, err := json.Marshal(map[string]string{"file_path": filepath.Join(dir, name), "content": "hello\n"})
		if err != nil {
			t.Fatal(err)
		}
		return script.Turn{Blocks: []script.Block{{Tool: "Write", Input: input}}}
	}
	model, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{write("a.txt"), write("b.txt"), {Blocks: []script.Block{{Text: "All answered."}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "HAFT_HOME="+home+"/.haft", "CLAUDE_CONFIG_DIR="+home+"/.claude", "XDG_CACHE_HOME="+home+"/.cache", "ANTHROPIC_BASE_URL="+model.URL(), "ANTHROPIC_API_KEY=x")
	server := startLines(t, env, "serve", "--preview", "off")
	address, _, _ := strings.Cut(server.see("#login="), "/#login=")
	var kept struct{ Token string }
	raw, err := os.ReadFile(filepath.Join(home, ".haft", "state", "serve", "serve.json"))
	if err == nil {
		err = json.Unmarshal(raw, &kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{"cwd": dir, "prompt": "write both"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest("POST", address+"/v1/sessions", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+kept.Token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var session struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&session); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatal(resp.Status, err)
	}

	far := startLines(t, env, "attach", address+"/s/"+session.ID[:8])
	far.see("Asked because")
	near := startLines(t, env, "attach", session.ID)
	near.see("Asked because")
	far.answer("y")
	near.see("allow by an attached terminal")
	near.see("Asked because")
	far.see("Asked because")
	near.answer("n not this one")
	far.see("deny by haft attach")
	far.see("All answered.")
	near.see("All answered.")
	if raw, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(raw) != "hello\n" {
		t.Errorf("what was allowed: %q, %v", raw, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.txt")); err == nil {
		t.Error("what was denied was written")
	}
	all := model.Requests()
	if last := string(all[len(all)-1].Body); !strings.Contains(last, "not this one") {
		t.Error("the model does not read why")
	}
	_ = server.cmd.Process.Signal(syscall.SIGINT)
	far.see("The connection to the server was lost.")
	near.see("The session ended")
}
