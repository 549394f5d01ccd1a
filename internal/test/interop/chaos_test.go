//go:build linux

package interop_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

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

// A program that stops reading is waited for, as a slow one would be: nothing may be
// lost. A signal ends the wait.
func TestProgramThatStopsReading(t *testing.T) {
	v := torment(t, true, says(strings.Repeat("x", 1<<20)))
	v.send(strings.Replace(initialize, `,"hooks":{"PreToolUse":[{"hookCallbackIds":["hook_0"]}]}`, "", 1), prompt)
	for range 600 { // until the pipe is full
		if n, err := unix.IoctlGetInt(int(v.out.(*os.File).Fd()), unix.TIOCINQ); err == nil && n > 60000 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	v.in.Close()
	if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := v.ends(); code == 0 {
		t.Error("it ended as if everything had been read")
	}
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
	if code := v.endsWithin(time.Minute); code != 0 { // 50 MB may have to be answered still
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
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{runs("touch made; sleep 60")}}})
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
	needtest.Hang()
}
