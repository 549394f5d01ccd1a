package shellrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOutputIsMergedInOrder(t *testing.T) {
	s := newTestHost(t, nil).NewShell(t.TempDir())
	task := run(t, s, "echo one; echo two >&2; echo three; exit 3")
	if got, want := text(task), "one\ntwo\nthree\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if r := task.Result(); r.State != Exited || r.Status.Code != 3 {
		t.Errorf("result %+v, want exit 3", r)
	}
}

func TestCommandsSeeAPlainShell(t *testing.T) {
	s := newTestHost(t, nil).NewShell(t.TempDir())
	for _, c := range []struct{ name, command, want string }{
		{"no arguments are left of the harness", `echo "$#" "$1" "$0"`, "0  bash\n"},
		{"input is empty", "cat; echo $?", "0\n"},
		{"there is no terminal", "tty; : </dev/tty", "not a tty\nbash: line 1: /dev/tty: No such device or address\n"},
		{"quotes and newlines need no care", "echo 'a\"b' \"c'd\"\necho $'x\\ty'", "a\"b c'd\nx\ty\n"},
		{"here documents work", "cat <<'E'\n$x\nE", "$x\n"},
		{"a trailing comment harms nothing", "echo a # comment", "a\n"},
		{"an exit trap of the command runs", "trap 'echo bye' EXIT; echo hi", "hi\nbye\n"},
	} {
		if got := text(run(t, s, c.command)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Children have a tenth of a second after the command, which may be too short on a
// busy machine, but not every time.
func TestWhatChildrenWriteLateIsKept(t *testing.T) {
	s := newTestHost(t, nil).NewShell(t.TempDir())
	for command, want := range map[string]string{
		"(sleep 0.05; echo late) & echo now": "now\nlate\n",
		"echo x > >(sleep 0.03; cat)":        "x\n", // process substitution
	} {
		got := ""
		for range 20 {
			if got = text(run(t, s, command)); got == want {
				break
			}
		}
		if got != want {
			t.Errorf("%s wrote %q, want %q", command, got, want)
		}
	}
}

func TestACommandTooLongForAnArgumentRuns(t *testing.T) {
	s := newTestHost(t, nil).NewShell(t.TempDir())
	long := "cat <<'E' | wc -c\n" + strings.Repeat("0123456789abcde\n", 40000) + "E\necho \"$#\"; cd /"
	task := run(t, s, long)
	if got := strings.Fields(text(task)); len(got) != 2 || got[0] != "640000" || got[1] != "0" {
		t.Errorf("output %q", got)
	}
	if s.Dir() != "/" {
		t.Errorf("directory %s", s.Dir())
	}
	padding := strings.Repeat("# as long as it takes\n", 6000)
	if got, want := text(run(t, s, padding+"return 3; nothing")), "bash: line 6001: return: can only `return' from a function or sourced script\nbash: line 6001: nothing: command not found\n"; got != want {
		t.Errorf("it differs from a short one: %q, want %q", got, want)
	}
}

func TestDirectoryPersists(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(root, "it's a dir")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	s := newTestHost(t, nil).NewShell(root)
	steps := []struct {
		command string
		dir     string
		changed bool
	}{
		{"true", root, false},
		{`cd "it's a dir"`, sub, true},
		{"pwd", sub, false},
		{"(cd /)", sub, false},
		{"cd / && exit 7", "/", true},
		{"cd " + quote(sub) + "; false", sub, true},
		{"set -e; cd /; false; cd /usr", "/", true},
		{"set -u; cd " + quote(root) + "; echo $nothing", root, true},
	}
	for _, step := range steps {
		r := run(t, s, step.command).Result()
		if r.Dir != step.dir || r.DirChanged != step.changed || s.Dir() != step.dir {
			t.Errorf("after %q: directory %s, changed %v, want %s, %v", step.command, r.Dir, r.DirChanged, step.dir, step.changed)
		}
	}
}

func TestAShellCanBeMoved(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := newTestHost(t, nil).NewShell("/")
	if err := s.Move(root); err != nil {
		t.Fatal(err)
	}
	if r := run(t, s, "cd /usr; cd - > /dev/null; true").Result(); r.Dir != root {
		t.Errorf("the command ran in %s", r.Dir)
	}
	if err := s.Move(filepath.Join(root, "nothing")); err == nil || s.Dir() != root {
		t.Errorf("moved to what is not there: %v, %s", err, s.Dir())
	}
}

func TestADeletedDirectoryHeals(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "project")
	sub := filepath.Join(home, "sub")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	s := newTestHost(t, nil).NewShell(home)
	run(t, s, "cd sub")
	run(t, s, "rm -r ../sub")
	task := run(t, s, "pwd")
	if r := task.Result(); text(task) != home+"\n" || r.DirHealed != sub || r.Dir != home {
		t.Errorf("output %q, result %+v", text(task), r)
	}
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	var gone *GoneError
	if _, err := s.Run(t.Context(), Request{Command: "touch beside"}); !errors.As(err, &gone) || gone.Dir != home {
		t.Errorf("with the first directory gone too: %v", err)
	}
	if _, err := s.Start(t.Context(), Request{Command: "touch beside"}); !errors.As(err, &gone) {
		t.Errorf("in the background: %v", err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("a command ran in the folder above: %v, %v", entries, err)
	}
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := text(run(t, s, "pwd")); got != home+"\n" {
		t.Errorf("with the first directory made again: %q", got)
	}
}

func TestASettledShellDoesNotReturnToWhereItWasMade(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, tree := filepath.Join(root, "main"), filepath.Join(root, "tree")
	if err := errors.Join(os.Mkdir(main, 0o755), os.Mkdir(tree, 0o755)); err != nil {
		t.Fatal(err)
	}
	s := newTestHost(t, nil).NewShell(main)
	if err := s.Settle(tree, tree); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tree); err != nil {
		t.Fatal(err)
	}
	var gone *GoneError
	if _, err := s.Run(t.Context(), Request{Command: "touch astray"}); !errors.As(err, &gone) || gone.Dir != tree {
		t.Errorf("in a worktree that is gone: %v", err)
	}
	if err := s.Settle(main, main); err != nil {
		t.Fatal(err)
	}
	if got := text(run(t, s, "ls; pwd")); got != main+"\n" {
		t.Errorf("back in the main copy: %q", got)
	}
}

func TestEnvironmentDoesNotPersistAndTheEnvFileDoes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env file")
	s := newTestHost(t, func(o *Options) { o.Environ = append(os.Environ(), "CLAUDE_ENV_FILE="+file) }).NewShell("/")
	run(t, s, "export A=1; f() { :; }")
	if got := text(run(t, s, "echo [$A]; type f 2>&1 | head -1")); !strings.HasPrefix(got, "[]\n") || !strings.Contains(got, "not found") {
		t.Errorf("a variable or function persisted: %q", got)
	}
	if err := os.WriteFile(file, []byte("export B='from file'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := text(run(t, s, "echo [$B]")); got != "[from file]\n" {
		t.Errorf("the env file was not sourced: %q", got)
	}
}

func TestAnEnvFileCannotStandInForTheCommand(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	s := newTestHost(t, func(o *Options) { o.EnvFile = "env" }).NewShell("/usr")
	for _, c := range []struct {
		name, file, command, want string
		code                      int
	}{
		{"a bare name is not looked up in PATH", "A=here", "echo $A", "here\n", 0},
		{"a file that ends the shell", "exit 0", "echo ran", "haft: the command did not run: the env file " + dir + "/env ended the shell\n", 126},
		{"a file that changes the directory", "cd /", "pwd", "/usr\n", 0},
		{"a file that returns", "return 3", "echo ran", "ran\n", 0},
		{"a file that sets an exit trap", "trap 'echo mine' EXIT", "echo ran", "ran\n", 0},
		{"a file that sets -e", "set -e", "echo ran; false; echo not", "ran\n", 1},
	} {
		if err := os.WriteFile("env", []byte(c.file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		task := run(t, s, c.command)
		if r := task.Result(); text(task) != c.want || r.Status.Code != c.code || r.DirChanged {
			t.Errorf("%s: output %q, result %+v", c.name, text(task), r)
		}
	}
}

func TestEnvironmentIsAListOfNames(t *testing.T) {
	environ := []string{
		"HOME=/home/u", "PATH=/usr/bin:/bin", "LC_ALL=C", "ANTHROPIC_API_KEY=k1", "OPENAI_API_KEY=k2", "SECRET_THING=s", "PAGER=less",
		"MY_VAR=1", "MY_KEY=2", "CLAUDE_CODE_OAUTH_TOKEN=k3", "GIT_EDITOR=vim", "TERM=xterm",
	}
	got := Inherited(environ, []string{"MY_*", "ANTHROPIC_API_KEY", "OPENAI_*", "GIT_EDITOR"})
	want := []string{"HOME=/home/u", "PATH=/usr/bin:/bin", "LC_ALL=C", "MY_VAR=1", "MY_KEY=2", "GIT_EDITOR=vim"}
	for _, entry := range imposed {
		if entry != "GIT_EDITOR=true" {
			want = append(want, entry)
		}
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestProviderKeysNeverReachACommand(t *testing.T) {
	s := newTestHost(t, func(o *Options) {
		o.Environ = append(os.Environ(), "ANTHROPIC_API_KEY=topsecret1", "GEMINI_API_KEY=topsecret2", "AWS_SECRET_ACCESS_KEY=topsecret3")
		o.EnvNames = []string{"ANTHROPIC_API_KEY", "GEMINI*"}
	}).NewShell("/")
	got := text(run(t, s, "env; tr '\\0' '\\n' </proc/$PPID/environ; echo $GIT_TERMINAL_PROMPT $PAGER $GIT_PAGER"))
	if strings.Contains(got, "topsecret") || !strings.HasSuffix(got, "0 cat cat\n") {
		t.Errorf("environment:\n%s", got)
	}
}

func TestProfileIsCapturedOnce(t *testing.T) {
	home := t.TempDir()
	rc := `echo noise; echo run >>~/count
export PATH="$HOME/tools:$PATH"
. ~/bash_completion
shopt -s extglob
_name() { [[ x == !(y) ]] && echo world; }
greet() { echo "hello $(_name)"; }
alias hi=greet
alias rm='rm -i'
case $- in *i*) ;; *) return ;; esac
alias inter='echo interactive'
`
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "bash_completion"), []byte("_complete_it() { :; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newTestHost(t, func(o *Options) {
		o.NoProfile = false
		o.Environ = append(os.Environ(), "HOME="+home, "PATH=/venv/bin:"+os.Getenv("PATH"))
	})
	s := h.NewShell(home)
	got := text(run(t, s, "hi; inter; type -t _complete_it; touch x; rm x; ls; echo $PATH"))
	if !strings.HasPrefix(got, "hello world\ninteractive\nbash_completion\ncount\n/venv/bin:") || !strings.HasSuffix(got, ":"+home+"/tools\n") {
		t.Errorf("output:\n%s", got)
	}
	run(t, s, "true")
	if count, _ := os.ReadFile(filepath.Join(home, "count")); string(count) != "run\n" {
		t.Errorf("the start-up file ran %d times", strings.Count(string(count), "run"))
	}
	if err := h.Warning(); err != nil {
		t.Error(err)
	}
}

func TestFunctionsForCompletionAreKnownByTheirFile(t *testing.T) {
	for origin, want := range map[string]bool{
		"_git 10 /usr/share/bash-completion/completions/git":   true,
		"_x 10 /usr/share/bash-completion/bash_completion":     true,
		"_x 1 /etc/bash_completion.d/x":                        true,
		"_x 1 /home/me/my completion.bash":                     true,
		"completion_report 3 /home/me/.bashrc":                 false,
		"deploy 3 /home/me/src/completion-server/functions.sh": false,
		"": false,
	} {
		if completes(origin) != want {
			t.Errorf("%q: %v, want %v", origin, !want, want)
		}
	}
}

func TestABrokenProfileIsAWarning(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("exit 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newTestHost(t, func(o *Options) { o.NoProfile = false; o.Environ = append(os.Environ(), "HOME="+home) })
	if got := text(run(t, h.NewShell("/"), "echo works")); got != "works\n" {
		t.Errorf("output %q", got)
	}
	if h.Warning() == nil {
		t.Error("no warning")
	}
}

func TestASlowProfileHoldsUpNobodyPastHisTime(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("sleep 88\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newTestHost(t, func(o *Options) { o.NoProfile = false; o.Environ = append(os.Environ(), "HOME="+home) })
	start := time.Now()
	_, err := h.NewShell("/").Run(t.Context(), Request{Command: "true", Timeout: 100 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a timeout: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := h.NewShell("/").Start(ctx, Request{Command: "true"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > profileTime-2*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestTimeoutEndsOrDetaches(t *testing.T) {
	ended := make(chan *Task, 1)
	h := newTestHost(t, func(o *Options) { o.OnEnd = func(t *Task) { ended <- t } })
	s := h.NewShell("/")
	task, err := s.Run(t.Context(), Request{Command: "echo before; sleep 600; echo after", Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if r := task.Result(); r.State != TimedOut || r.Status.Code != 143 || text(task) != "before\n" {
		t.Errorf("output %q, result %+v", text(task), r)
	}
	release := func(p Progress) {
		if task, ok := h.Task(p.TaskID); !ok || task.Release() {
			t.Error("a foreground command was moved to the background")
		}
	}
	task, err = s.Run(t.Context(), Request{Command: "echo before; sleep 600; echo after", Timeout: 1500 * time.Millisecond, Detach: true, Foreground: true, OnProgress: release})
	if err != nil {
		t.Fatal(err)
	}
	if r := task.Result(); r.State != TimedOut || task.Background() || text(task) != "before\n" {
		t.Errorf("in the foreground: output %q, result %+v", text(task), r)
	}
	gate := filepath.Join(t.TempDir(), "gate")
	task, err = s.Run(t.Context(), Request{Command: "echo before; until [[ -e " + quote(gate) + " ]]; do sleep 0.01; done; echo after", Timeout: time.Second, Detach: true})
	if err != nil {
		t.Fatal(err)
	}
	if task.Ended() || !task.Background() || task.State() != Running || text(task) != "before\n" {
		t.Errorf("the task was not moved to the background: %q", text(task))
	}
	if found, ok := h.Task(task.ID()); !ok || found != task {
		t.Error("the task is not in the table")
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != task || got.State() != Exited || text(got) != "before\nafter\n" {
		t.Errorf("end of %s in state %q with output %q", got.ID(), got.State(), text(got))
	}
	if len(h.Tasks()) != 1 {
		t.Errorf("%d tasks listed, want the background one only", len(h.Tasks()))
	}
}

func TestBackgroundLifeCycle(t *testing.T) {
	ended := make(chan *Task, 3)
	h := newTestHost(t, func(o *Options) { o.OnEnd = func(t *Task) { ended <- t } })
	s := h.NewShell("/")
	server, err := s.Start(t.Context(), Request{Command: "echo up; sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	if path := server.Output().Path(); path == "" {
		t.Error("no file to follow")
	}
	var got string
	for got != "up\n" {
		data, _ := server.ReadNew(1000)
		got += string(data)
	}
	if data, _ := server.ReadNew(1000); data != nil {
		t.Errorf("read again: %q", data)
	}
	if r := server.Stop(); r.State != Stopped || <-ended != server {
		t.Errorf("result %+v", r)
	}
	limited, err := s.Start(t.Context(), Request{Command: "sleep 600", Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if <-ended != limited || limited.State() != TimedOut {
		t.Errorf("state %q", limited.State())
	}
}

func TestTheBackgroundIsAnnouncedBeforeItEnds(t *testing.T) {
	var told []string
	var mu sync.Mutex
	note := func(what string) func(*Task) {
		return func(task *Task) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, what+" "+task.Command())
		}
	}
	h := newTestHost(t, func(o *Options) { o.OnBackground, o.OnEnd = note("moved"), note("ended") })
	s := h.NewShell("/")
	if _, err := s.Run(t.Context(), Request{Command: "true"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), Request{Command: "exit 1"}); err != nil {
		t.Fatal(err)
	}
	h.active.Wait()
	if _, err := s.Run(t.Context(), Request{Command: "sleep 600", Timeout: 100 * time.Millisecond, Detach: true}); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil { // waits for the last OnEnd
		t.Fatal(err)
	}
	want := []string{"moved exit 1", "ended exit 1", "moved sleep 600", "ended sleep 600"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	h := newTestHost(t, nil)
	task, err := h.NewShell("/").Start(t.Context(), Request{Command: "trap '' TERM; sleep 600; sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if !task.Ended() || task.State() != Stopped {
		t.Errorf("state %q after Close", task.State())
	}
	if _, err := h.NewShell("/").Run(t.Context(), Request{Command: "true"}); err == nil {
		t.Error("a closed host runs commands")
	}
}

func TestTheEndOfAnAgentEndsItsCommandsOnly(t *testing.T) {
	h := newTestHost(t, nil)
	one, two := h.NewShell("/"), h.NewShell("/")
	first, err := one.Start(t.Context(), Request{Command: "setsid sleep 600 & sleep 600", Tag: "use 1"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := two.Start(t.Context(), Request{Command: "sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	one.Close()
	if first.State() != Stopped || second.State() != Running || first.Tag() != "use 1" {
		t.Errorf("states %q and %q", first.State(), second.State())
	}
}

func TestReadNewLinesHoldsBackHalfALine(t *testing.T) {
	task := &Task{output: newOutput("t", newSpool(nil), false), done: make(chan struct{})}
	task.output.Write([]byte("one\ntw"))
	if data, _ := task.ReadNewLines(100); string(data) != "one\n" || task.Unread() != 2 {
		t.Errorf("read %q, %d unread", data, task.Unread())
	}
	task.output.Write([]byte("o\nthree"))
	if data, _ := task.ReadNewLines(100); string(data) != "two\n" {
		t.Errorf("read %q", data)
	}
	close(task.done)
	if data, _ := task.ReadNewLines(100); string(data) != "three" {
		t.Errorf("read %q at the end", data)
	}
}

func TestACancelledCallStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "file")
	if _, err := newTestHost(t, nil).NewShell("/").Run(ctx, Request{Command: "touch " + file}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the command ran")
	}
}

func TestProgressIsToldEachSecond(t *testing.T) {
	var seen []Progress
	task, err := newTestHost(t, nil).NewShell("/").Run(t.Context(), Request{
		Command: "seq 10; printf 'half\\r'; sleep 1.3; echo end", OnProgress: func(p Progress) { seen = append(seen, p) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 {
		t.Fatalf("progress told %d times, want once", len(seen))
	}
	if p := seen[0]; p.Last != "7\n8\n9\n10\nhalf" || p.Total.Lines != 11 || p.Total.Bytes != 26 || p.Elapsed < time.Second || p.TaskID != task.ID() {
		t.Errorf("progress %+v", p)
	}
}

// A Runner given by Wrap sees every command before it starts.
func TestWrapSeesCommands(t *testing.T) {
	var dirs []string
	h := newTestHost(t, func(o *Options) {
		o.Wrap = func(inner Runner) Runner {
			return runnerFunc(func(c Command) (Process, error) {
				dirs = append(dirs, c.Dir)
				c.Env = append(c.Env, "WRAPPED=yes")
				return inner.Start(c)
			})
		}
	})
	if got := text(run(t, h.NewShell("/usr"), "echo $WRAPPED")); got != "yes\n" || len(dirs) != 1 || dirs[0] != "/usr" {
		t.Errorf("output %q, directories %q", got, dirs)
	}
}

type runnerFunc func(Command) (Process, error)

func (f runnerFunc) Start(c Command) (Process, error) { return f(c) }

// Without a supervisor the process group is still ended.
func TestWithoutASupervisor(t *testing.T) {
	h := newTestHost(t, func(o *Options) { o.Reexec = Reexec{} })
	s := h.NewShell("/")
	start := time.Now()
	task, err := s.Run(t.Context(), Request{Command: "echo hi; (sleep 600 &); trap '' TERM; sleep 600", Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if r := task.Result(); r.State != TimedOut || text(task) != "hi\n" || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: output %q, result %+v", time.Since(start), text(task), r)
	}
	if r := run(t, s, "sleep 600 & exit 5").Result(); r.Status.Code != 5 {
		t.Errorf("result %+v", r)
	}
}

func TestAMissingShellIsToldPlainly(t *testing.T) {
	h := newTestHost(t, func(o *Options) { o.Shell = "/no/such/bash" })
	_, err := h.NewShell("/").Run(t.Context(), Request{Command: "true"})
	if err == nil || err.Error() != "start /no/such/bash in /: no such file or directory" {
		t.Errorf("error %v", err)
	}
}

// Something that cleans up temporary files must not break a long session.
func TestACleanedUpScratchDirectoryIsMadeAgain(t *testing.T) {
	h := newTestHost(t, nil)
	s := h.NewShell("/")
	run(t, s, "true")
	if err := os.RemoveAll(h.ready.shell.scratch); err != nil {
		t.Fatal(err)
	}
	if task := run(t, s, "cd /usr"); text(task) != "" || s.Dir() != "/usr" {
		t.Errorf("output %q, directory %s", text(task), s.Dir())
	}
}
