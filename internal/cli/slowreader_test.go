//go:build linux || darwin

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/model/script"
)

// chatty is a session that says much more than a pipe holds.
func chatty() *script.Scenario {
	var turns []script.Turn
	for i := range 40 {
		input := fmt.Appendf(nil, `{"command":"head -c 20000 /dev/zero | tr '\\0' %c"}`, 'a'+i%26)
		turns = append(turns, script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: input}}})
	}
	return &script.Scenario{Turns: append(turns, script.Turn{Blocks: []script.Block{{Text: "Done."}}})}
}

// TestASlowReaderLosesNothing reads nothing before the session has had much more time
// than it needs, by prompt and by a program that has closed its input.
func TestASlowReaderLosesNothing(t *testing.T) {
	for name, input := range map[string]string{"a prompt": "", "a program": `{"type":"user","message":{"role":"user","content":"go"}}` + "\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			s := newSeat(t)
			args := []string{"-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"}
			if input != "" {
				args = append([]string{"--input-format", "stream-json"}, args[2:]...)
			}
			cmd := exec.Command(haftCommand(t), args...)
			cmd.Dir = s.dir
			cmd.Env = bareEnv(s.home, "ANTHROPIC_BASE_URL="+scripted(t, chatty()).URL(), "ANTHROPIC_API_KEY=none")
			if input != "" {
				cmd.Stdin = strings.NewReader(input)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(4 * time.Second) // what is tested is that this time does not matter
			text, err := io.ReadAll(out)
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
			results, last := 0, ""
			for line := range bytes.Lines(text) {
				var m struct{ Type string }
				if err := json.Unmarshal(line, &m); err != nil || line[len(line)-1] != '\n' {
					t.Fatalf("a torn line: %.100s", line)
				}
				if m.Type == "user" {
					results++
				}
				last = m.Type
			}
			if results != 40 || last != "result" {
				t.Errorf("%d of 40 results, the last line is a %s", results, last)
			}
		})
	}
}

// TestAReaderThatLeavesShowsInTheExitCode reads one line and closes.
func TestAReaderThatLeavesShowsInTheExitCode(t *testing.T) {
	s := newSeat(t)
	cmd := exec.Command(haftCommand(t), "-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")
	cmd.Dir = s.dir
	cmd.Env = bareEnv(s.home, "ANTHROPIC_BASE_URL="+scripted(t, chatty()).URL(), "ANTHROPIC_API_KEY=none")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if err := cmd.Wait(); err == nil {
		t.Error("it ended as if everything had been read")
	}
}

// TestAReaderThatNeverReadsDoesNotKeepHaft ends a session by signal whose output nobody
// takes.
func TestAReaderThatNeverReadsDoesNotKeepHaft(t *testing.T) {
	s := newSeat(t)
	model := scripted(t, chatty())
	cmd := exec.Command(haftCommand(t), "-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")
	cmd.Dir = s.dir
	cmd.Env = bareEnv(s.home, "ANTHROPIC_BASE_URL="+model.URL(), "ANTHROPIC_API_KEY=none")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for len(model.Requests()) < 2 { // it works
		time.Sleep(10 * time.Millisecond)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended as if everything had been read")
		}
	case <-time.After(20 * time.Second):
		cmd.Process.Kill()
		t.Error("it does not end")
	}
}
