//go:build unix

package interop_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/haftdev/haft/model/script"
)

// terminalBytes are what a program writes to its terminal, in bytes.
type terminalBytes struct {
	Key, Delta, Waiting float64 // for a key, for 12 characters of an answer, in a second of waiting
}

// A terminal of haft gets few bytes, and fewer than one of Claude Code for the same: for a typed
// character, for a piece of an answer, and while the model is waited for.
func TestTerminalBytes(t *testing.T) {
	claude, haft := reference(t), build(t)
	theirs, ours := writesToTerminal(t, claude), writesToTerminal(t, haft)
	t.Logf("Claude Code: %.0f bytes for a key, %.0f for 12 characters of an answer, %.0f in a second of waiting", theirs.Key, theirs.Delta, theirs.Waiting)
	t.Logf("haft: %.0f, %.0f, %.0f: %.2f, %.2f and %.2f times as many", ours.Key, ours.Delta, ours.Waiting, ours.Key/theirs.Key, ours.Delta/theirs.Delta, ours.Waiting/theirs.Waiting)
	if ours.Key > 30 || ours.Delta > 60 || ours.Waiting > 200 {
		t.Errorf("haft writes %+v bytes, want at most 30, 60 and 200", ours)
	}
	if ours.Key > theirs.Key || ours.Delta > theirs.Delta || ours.Waiting > theirs.Waiting {
		t.Errorf("haft writes %+v bytes, Claude Code %+v", ours, theirs)
	}
}

const (
	typedKeys  = "Write the report about the parser, and say what it does well"
	streamed   = 150 // pieces of 12 characters
	pieceDelay = 60  // milliseconds
)

// writesToTerminal measures a program with a scripted model.
func writesToTerminal(t *testing.T, exe string) (b terminalBytes) {
	long := script.Turn{Blocks: []script.Block{{Text: strings.Repeat("The parser reads a word at a time, and returns it with its place. ", 12*streamed/66)}}, Chunk: 12, Delta: pieceDelay}
	slow := script.Turn{TTFT: 30_000, Blocks: []script.Block{{Text: "Done."}}}
	s := startScreen(t, exe, long)
	at := s.bytes.Load()
	for _, key := range typedKeys {
		s.send(string(key))
		s.pause(60 * time.Millisecond)
	}
	s.quiet()
	b.Key = float64(s.bytes.Load()-at) / float64(len(typedKeys))
	at = s.bytes.Load()
	s.send("\r")
	s.pause(streamed * pieceDelay * time.Millisecond)
	s.quiet()
	b.Delta = float64(s.bytes.Load()-at) / streamed
	s.end()

	s = startScreen(t, exe, slow)
	s.send("Think about it")
	s.quiet()
	s.send("\r")
	s.pause(2 * time.Second)
	at = s.bytes.Load()
	const seconds = 6
	s.pause(seconds * time.Second)
	b.Waiting = float64(s.bytes.Load()-at) / seconds
	s.end()
	return b
}

// A screen is a program on a pseudo-terminal whose output is counted.
type screen struct {
	t     *testing.T
	tty   *os.File
	bytes atomic.Int64
	end   func()
}

// startScreen starts a program that was set up before, with a model that gives an answer, and waits until
// it is quiet.
func startScreen(t *testing.T, exe string, answer script.Turn) *screen {
	t.Helper()
	m, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{answer}, Side: &script.Turn{Blocks: []script.Block{{Text: "A report"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	home := t.TempDir()
	project := filepath.Join(home, "project")
	const key = "sk-ant-start-000000000000000000000000"
	config := fmt.Sprintf(`{"hasCompletedOnboarding":true,"theme":"dark","numStartups":5,"customApiKeyResponses":{"approved":[%q],"rejected":[]},"projects":{%q:{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`, key[len(key)-20:], project)
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Dir = project
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=" + m.URL(), "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1"}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, tty: tty}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for buffer := make([]byte, 64<<10); ; {
			n, err := tty.Read(buffer)
			if s.bytes.Add(int64(n)); err != nil {
				return
			}
		}
	}()
	ended := false
	s.end = func() {
		if ended {
			return
		}
		ended = true
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		tty.Close()
		<-read
	}
	t.Cleanup(s.end)
	for end := time.Now().Add(30 * time.Second); s.bytes.Load() < 100; s.pause(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s draws nothing", exe)
		}
	}
	s.quiet()
	return s
}

func (s *screen) send(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) pause(d time.Duration) { <-time.After(d) }

// quiet waits until a second has passed in which little was written.
func (s *screen) quiet() {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		before := s.bytes.Load()
		if s.pause(time.Second); s.bytes.Load()-before < 20 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatal("it is never quiet")
		}
	}
}
