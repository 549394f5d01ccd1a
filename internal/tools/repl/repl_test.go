package repl_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

func TestConformance(t *testing.T) {
	r := newRig(t, nil)
	r.eval(t, "python", "0") // the supervisor and the interpreters stay
	r.eval(t, "javascript", "0")
	tooltest.Run(t, tooltest.Subject{
		Tool: *r.set.Lookup("REPL"), Session: r.set.Session(), Tools: r.set,
		Valid: []string{`{"language":"python","code":"1+1"}`, `{"language":"javascript","code":"1+1","timeout":60000}`},
		Slow:  `{"language":"python","code":"import time; time.sleep(600)"}`,
	})
}

// TestStateStays evaluates one piece after another in the same process.
func TestStateStays(t *testing.T) {
	steps := map[string][]struct{ code, want string }{
		"python": {
			{"import math\nx = 40", ""},
			{"def f(n):\n    return n + x\n\nf(2)", "42"},
			{"print('a'); 'b'", "a\n'b'"},
			{"_ + 'c'", "'bc'"},
			{"import asyncio\nawait asyncio.sleep(0, 'waited')", "'waited'"},
			{"class A:\n    def __repr__(self): return 'an A'\n[A()]", "[an A]"},
			{"import pickle; pickle.loads(pickle.dumps(A()))", "an A"},
			{"input()", "EOFError"},
			{"1/0", "    1/0\n     ~^~\nZeroDivisionError: division by zero"},
			{"def", "SyntaxError"},
			{"import os, sys; _ = os.system('echo from a child; echo and its errors >&2')", "from a child\nand its errors"},
			{"print('雪' * 3)", "雪雪雪"},
			{"x", "40"},
		},
		"javascript": {
			{"const fs = require('fs'), x = 40", ""},
			{"const x = 41; x + 1", "42"},
			{"function f(n) { return n + x }", ""},
			{"f(1)", "42"},
			{"console.log('a'); 'b'", "a\n'b'"},
			{"await new Promise(r => setTimeout(() => r('waited'), 20))", "'waited'"},
			{"({a: [1, {b: 2}]})", "{ a: [ 1, { b: 2 } ] }"},
			{"nothing.there", "ReferenceError: nothing is not defined\n    at <anonymous>:1:1"},
			{"throw 'text'", "Uncaught 'text'"},
			{"let = ;", "SyntaxError"},
			{"require('child_process').spawnSync('sh', ['-c', 'echo from a child; echo and its errors >&2'], {stdio: 'inherit'}).status", "from a child\nand its errors\n0"},
			{"'雪'.repeat(3)", "'雪雪雪'"},
			{"10n ** 20n", "100000000000000000000n"},
			{"Symbol('s')", "Symbol(s)"},
			{"x", "41"},
		},
	}
	r := newRig(t, nil)
	for language, list := range steps {
		for i, step := range list {
			out := r.eval(t, language, step.code)
			if failed := strings.Contains(step.want, "Error") || strings.Contains(step.want, "Uncaught"); failed != (out.State == "error") {
				t.Errorf("%s %q: state %s", language, step.code, out.State)
			}
			if !strings.HasSuffix(out.Output, step.want) && !strings.Contains(out.Output, step.want+"\n") && !strings.Contains(out.Output, step.want+":") {
				t.Errorf("%s %q: got %q, want %q", language, step.code, out.Output, step.want)
			}
			if started := strings.Contains(strings.Join(out.Notes, ""), "A new"); started != (i == 0) {
				t.Errorf("%s %q: notes %q", language, step.code, out.Notes)
			}
			if strings.Contains(out.Output, "haft") || strings.Contains(out.Output, "inspector") || strings.Contains(out.Output, "in serve") {
				t.Errorf("%s %q: frames of the evaluator are shown: %s", language, step.code, out.Output)
			}
		}
	}
}

// TestATimeoutKeepsTheState interrupts code in each way that it can be at work.
func TestATimeoutKeepsTheState(t *testing.T) {
	r := newRig(t, nil)
	for _, c := range []struct{ language, code string }{
		{"python", "while True: pass"},
		{"python", "import time; time.sleep(600)"},
		{"python", "import asyncio; await asyncio.sleep(600)"},
		{"python", "import subprocess; subprocess.run(['sleep', '600'])"},
		{"javascript", "while (true) {}"},
		{"javascript", "await new Promise(() => {})"},
	} {
		r.eval(t, c.language, map[string]string{"python": "import asyncio; kept = 7", "javascript": "kept = 7"}[c.language])
		out := r.outcome(t, repl.Input{Language: c.language, Code: c.code, Timeout: 300})
		if out.State != "timed out" || !strings.Contains(strings.Join(out.Notes, ""), "The state is kept") {
			t.Errorf("%q: %+v", c.code, out)
		}
		waits := map[string]string{"python": "await asyncio.to_thread(int); kept", "javascript": "await require('fs/promises').readFile('/dev/null'); kept"}
		if out := r.eval(t, c.language, waits[c.language]); out.Output != "7" {
			t.Errorf("after %q: %+v", c.code, out)
		}
	}
}

func TestCodeThatDoesNotReactIsEnded(t *testing.T) {
	r := newRig(t, &repl.Options{Grace: 300 * time.Millisecond})
	r.eval(t, "python", "import signal, time; kept = 1")
	out := r.outcome(t, repl.Input{Language: "python", Timeout: 300, Code: "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(1)"})
	if notes := strings.Join(out.Notes, ""); out.State != "timed out" || !strings.Contains(notes, "its state is lost") {
		t.Errorf("got %+v", out)
	}
	if out := r.eval(t, "python", "kept"); !strings.Contains(out.Output, "NameError") || !strings.Contains(out.Notes[0], "A new Python process") {
		t.Errorf("got %+v", out)
	}
}

// TestCodeThatIsBusyAfterAnAwaitIsEnded: Node.js cannot be used after such an interrupt.
func TestCodeThatIsBusyAfterAnAwaitIsEnded(t *testing.T) {
	r := newRig(t, nil)
	out := r.outcome(t, repl.Input{Language: "javascript", Code: "await 1; while (true) {}", Timeout: 300})
	if notes := strings.Join(out.Notes, ""); out.State != "timed out" || !strings.Contains(notes, "its state is lost. The next call starts a new one") {
		t.Errorf("got %+v", out)
	}
	if out := r.eval(t, "javascript", "await 1; 2"); out.Output != "2" {
		t.Errorf("got %+v", out)
	}
}

func TestAnInterruptKeepsWhatWasWritten(t *testing.T) {
	r := newRig(t, nil)
	r.eval(t, "python", "import time")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := r.call(ctx, repl.Input{Language: "python", Code: "print('so far', flush=True); time.sleep(600)"}, func(p tool.Progress) {
		if p == (tool.EvalProgress{Output: "so far\n"}) {
			cancel()
		}
	})
	if err == nil || !strings.Contains(err.Error(), "so far\n") || !strings.Contains(err.Error(), "The state is kept") {
		t.Errorf("got %v", err)
	}
}

func TestExitAndReset(t *testing.T) {
	r := newRig(t, nil)
	for language, code := range map[string]string{"python": "print('bye'); raise SystemExit(3)", "javascript": "console.log('bye'); process.exit(3)"} {
		r.eval(t, language, "kept = 1")
		out := r.eval(t, language, code)
		if out.State != "ended" || *out.ExitCode != 3 || out.Output != "bye" || !out.Render().Failed {
			t.Errorf("%s: %+v", language, out)
		}
		r.eval(t, language, "kept = 1")
		if out := r.outcome(t, repl.Input{Language: language, Code: "kept", Reset: true}); out.State != "error" || len(out.Notes) != 2 {
			t.Errorf("%s: %+v", language, out)
		}
		if out := r.outcome(t, repl.Input{Language: language, Reset: true}); out.State != "ok" || !strings.Contains(out.Render().Text(), "was ended") {
			t.Errorf("%s: %+v", language, out)
		}
	}
}

// TestMuchOutputIsBoundedAndKept does what the text about shortened output says: it
// reads the file.
func TestMuchOutputIsBoundedAndKept(t *testing.T) {
	r := newRig(t, &repl.Options{MaxOutput: 5000})
	n := 200_000 / needtest.Every(10)
	for language, code := range map[string]string{
		"python":     fmt.Sprintf("for i in range(%d): print('line', i)", n),
		"javascript": fmt.Sprintf("for (let i = 0; i < %d; i++) console.log('line', i)", n),
	} {
		out := r.eval(t, language, code)
		if len(out.Output) > 5000 || !strings.HasSuffix(out.Output, fmt.Sprint("line ", n-1)) || !strings.Contains(out.Output, "The whole output is in "+out.PersistedPath) {
			t.Fatalf("%s: %d characters: %.300s", language, len(out.Output), out.Output)
		}
		whole, err := os.ReadFile(out.PersistedPath)
		if err != nil || !strings.Contains(string(whole), fmt.Sprintf("line %d\n", n/2)) || int64(len(whole)) != out.PersistedSize {
			t.Errorf("%s: %d bytes of %d, %v", language, len(whole), out.PersistedSize, err)
		}
	}
}

// TestWhatIsWrittenBetweenCallsIsNotLost also shows that text which looks like a mark
// ends nothing.
func TestWhatIsWrittenBetweenCallsIsNotLost(t *testing.T) {
	r := newRig(t, nil)
	out := r.eval(t, "python", `import threading, os
written = threading.Event()
def late():
    os.write(1, b"late\n"); written.set()
threading.Timer(0.05, late).start()
os.write(1, b"\0not a mark ok\0")
1`)
	if !strings.HasSuffix(out.Output, "not a mark ok1") {
		t.Errorf("got %q", out.Output)
	}
	if out := r.eval(t, "python", "written.wait()"); out.Output != "late\nTrue" {
		t.Errorf("got %q", out.Output)
	}
}

func TestAMissingInterpreterIsSaid(t *testing.T) {
	r := newRig(t, nil)
	bare := newRawRig(&shellrun.Options{Environ: []string{"PATH=" + t.TempDir()}, Shell: "/bin/bash"}, nil)
	defer bare.host.Close()
	for language, want := range map[string]string{"python": "Python is not installed: python3 or python was not found in PATH. The user can install it", "javascript": "Node.js is not installed"} {
		_, err := bare.call(t.Context(), repl.Input{Language: language, Code: "1"}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v", err)
		}
	}
	_ = r
}

func TestAgentsHaveProcessesOfTheirOwn(t *testing.T) {
	r := newRig(t, nil)
	r.eval(t, "python", "who = 'main'")
	x := r.set.Lookup("REPL")
	theirs := func(code string) repl.Output {
		result, err := x.Run(t.Context(), &tool.Call{Tool: "REPL", Agent: "a1", Input: []byte(`{"language":"python","code":"` + code + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		return result.Output.(repl.Output)
	}
	if out := theirs("who"); out.State != "error" {
		t.Errorf("got %+v", out)
	}
	theirs("who = 'agent'")
	r.tools.EndAgent("a1")
	if out := theirs("who"); out.State != "error" {
		t.Errorf("after its end: %+v", out)
	}
	if out := r.eval(t, "python", "who"); out.Output != "'main'" {
		t.Errorf("got %+v", out)
	}
}
