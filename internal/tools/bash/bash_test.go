package bash_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// Reading while a command writes gives every line once, in order, whatever the
// moments of reading are.
func TestBashOutputLosesAndRepeatsNothing(t *testing.T) {
	r := newRig(t, nil, &bash.Options{MaxOutput: 700})
	const lines = 3000
	id := r.background(t, fmt.Sprintf("for i in {1..%d}; do echo line $i; (( i %% 97 )) || sleep 0.001; done", lines))
	var got strings.Builder
	for status := ""; ; {
		result, err := r.call(t.Context(), "BashOutput", "", fmt.Sprintf(`{"bash_id":%q}`, id))
		if err != nil {
			t.Fatal(err)
		}
		out := result.Output.(bash.OutputOutput)
		if len(out.Stdout) > 700 || out.Lost != 0 {
			t.Fatalf("%d bytes at once, %d lost", len(out.Stdout), out.Lost)
		}
		got.WriteString(out.Stdout)
		if status == "completed" && out.Stdout == "" {
			break
		}
		status = out.Status
	}
	var want strings.Builder
	for i := 1; i <= lines; i++ {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if got.String() != want.String() {
		t.Errorf("read %d bytes, written %d", got.Len(), want.Len())
	}
}

func TestAnInterruptKeepsWhatWasWritten(t *testing.T) {
	r := newRig(t, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	written := filepath.Join(t.TempDir(), "written")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(written); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	_, err := r.call(ctx, "Bash", "", fmt.Sprintf(`{"command":"echo so far; touch %s; sleep 600"}`, written))
	cancel()
	forModel := new(tool.Error)
	if want := "The command was interrupted and stopped, with everything it started.\nso far"; !errors.As(err, &forModel) || forModel.Message != want {
		t.Errorf("error %v, want %q for the model", err, want)
	}
	if errors.Is(err, context.Canceled) {
		t.Error("the error is only that of the context: nobody will show its text")
	}
}

func TestAnInterruptedReadLeavesNewOutputNew(t *testing.T) {
	r := newRig(t, nil, nil)
	id := r.background(t, "echo new; sleep 600")
	task, _ := r.host.Task(id)
	for task.Unread() == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.call(ctx, "BashOutput", "", fmt.Sprintf(`{"bash_id":%q,"block":true}`, id)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if task.Unread() == 0 {
		t.Error("the output was read for nobody")
	}
}

// A profile and an env file may make words mean something else, and set what the
// hardening unsets.
func TestACommandThatOnlyReadsRunsPlain(t *testing.T) {
	envFile := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(envFile, []byte("export HARD=soft; alias whoami='echo alias'; shopt -s expand_aliases"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, &shellrun.Options{EnvFile: envFile}, &bash.Options{
		Analyze: func(command, _ string) *shell.Analysis {
			return &shell.Analysis{ReadOnly: strings.HasPrefix(command, "echo")}
		},
		Harden: func(string) []string { return []string{"HARD=hard"} },
	})
	if result, _ := r.bash(t, "echo $HARD"); result.Text() != "hard" {
		t.Errorf("a command that only reads: %q", result.Text())
	}
	if result, _ := r.bash(t, "true; echo $HARD"); result.Text() != "soft" {
		t.Errorf("any other command: %q", result.Text())
	}
}

// Nobody else reports the signal that ended a program which was started without bash, or bash itself.
func TestADeathBySignalIsNoted(t *testing.T) {
	var words []string
	r := newRig(t, nil, &bash.Options{
		Analyze: func(string, string) *shell.Analysis { return &shell.Analysis{ReadOnly: true, Words: words} },
		Harden:  func(string) []string { return []string{"HARD=hard"} },
	})
	for _, c := range []struct {
		command, want string
		words         []string
	}{
		{"not run", "Exit code 137\n<bash-notes>\nThe command was terminated by signal 9 (killed). The machine may have run out of memory.\n</bash-notes>", []string{"sh", "-c", "kill -KILL $$"}},
		{"not run", "Exit code 139\n<bash-notes>\nThe command was terminated by signal 11 (segmentation fault).\n</bash-notes>", []string{"sh", "-c", "ulimit -c 0; kill -SEGV $$"}},
		{"kill -TERM $$", "Exit code 143\n<bash-notes>\nThe command was terminated by signal 15 (terminated).\n</bash-notes>", nil},
		{"not run", "Exit code 7", []string{"sh", "-c", "exit 7"}},
	} {
		words = c.words
		if result, _ := r.bash(t, c.command); result.Text() != c.want || !result.Failed {
			t.Errorf("%s %q: %q, want %q", c.command, c.words, result.Text(), c.want)
		}
	}
}

func TestAPromptEndsFastWithAdvice(t *testing.T) {
	r := newRig(t, nil, nil)
	start := time.Now()
	result, out := r.bash(t, "printf 'Password: '; sleep 600")
	if !result.Failed || out.Interrupted || !strings.Contains(result.Text(), "The command waited for an answer") || time.Since(start) > 10*time.Second {
		t.Errorf("after %v: %q", time.Since(start), result.Text())
	}
}

// A working command may leave a line open that reads like a question.
func TestAQuestionIsHintedAtWhenTheTimeIsOver(t *testing.T) {
	r := newRig(t, nil, &bash.Options{Timeout: 300 * time.Millisecond, EndAtLimit: true})
	for command, want := range map[string]bool{
		"printf 'Overwrite? (y/n) '; sleep 600":   true,
		"printf 'Testing login: '; sleep 600":     true,
		"printf 'Overwrite? (y/n)\\n'; sleep 600": false,
		"printf 'compiling'; sleep 600":           false,
	} {
		if result, _ := r.bash(t, command); strings.Contains(result.Text(), "may be a question") != want {
			t.Errorf("%s: %q", command, result.Text())
		}
	}
}

// A command that must end with its call says at its timeout why it does not continue.
func TestAForegroundCommandEndsAtItsTimeout(t *testing.T) {
	r := newRig(t, nil, nil)
	c := &tool.Call{Tool: "Bash", Input: []byte(`{"command":"until false; do sleep 0.1; done","timeout":300}`), Session: r.set.Session(), Foreground: true}
	result, err := r.set.Lookup("Bash").Run(t.Context(), c)
	if text := result.Text(); err != nil || !result.Failed || !strings.Contains(text, "It was not moved to the background") || len(r.host.Tasks()) != 0 {
		t.Errorf("%q, %v", text, err)
	}
}

func TestProgressIsTyped(t *testing.T) {
	r := newRig(t, nil, nil)
	var reports []tool.Progress
	c := &tool.Call{Tool: "Bash", Input: []byte(`{"command":"seq 3; sleep 1.2"}`), Progress: func(p tool.Progress) { reports = append(reports, p) }}
	if _, err := r.set.Lookup("Bash").Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if len(reports) != 1 {
		t.Fatalf("reports %v", reports)
	}
	if p := reports[0].(tool.BashProgress); p.Output != "1\n2\n3" || p.Lines != 3 || p.Bytes != 6 || p.Elapsed < time.Second {
		t.Errorf("report %+v", p)
	}
}

func TestReadOnlyCommandsRunBesideEachOther(t *testing.T) {
	r := newRig(t, nil, &bash.Options{Analyze: func(command, _ string) *shell.Analysis {
		return &shell.Analysis{ReadOnly: !strings.HasPrefix(command, "rm")}
	}})
	marks := func(input string) tool.Marks { return r.set.Lookup("Bash").MarksOf(&tool.Call{Input: []byte(input)}) }
	if m := marks(`{"command":"cd sub && ls"}`); !m.ReadOnly || m.ConcurrencySafe {
		t.Errorf("a command that moves the shell: %+v", m)
	}
	if m := marks(`{"command":"ls"}`); !m.ReadOnly || !m.ConcurrencySafe {
		t.Errorf("marks of ls: %+v", m)
	}
	for _, input := range []string{`{"command":"rm x"}`, `{"command":"ls","run_in_background":true}`} {
		if m := marks(input); m != (tool.Marks{}) {
			t.Errorf("marks of %s: %+v", input, m)
		}
	}
	if m := newRig(t, nil, nil).set.Lookup("Bash").MarksOf(&tool.Call{Input: []byte(`{"command":"ls"}`)}); m != (tool.Marks{}) {
		t.Errorf("marks where nobody knows read-only commands: %+v", m)
	}
	start := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { r.bash(t, "sleep 0.5") })
	}
	all.Wait()
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("50 commands of half a second took %v", took)
	}
}

func TestABrokenProfileIsToldOnce(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("exit 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := shellrun.NewHost(&shellrun.Options{Reexec: shellrun.Supervise(), Environ: append(os.Environ(), "HOME="+home)})
	defer host.Close()
	r := &rig{set: tool.NewSet(&tool.Session{}, bash.New(host, nil).List(), nil, nil)}
	if result, _ := r.bash(t, "echo hi"); !strings.Contains(result.Text(), "Commands run without the functions, aliases and PATH of the user's shell: ") {
		t.Errorf("the first result: %q", result.Text())
	}
	if result, _ := r.bash(t, "echo hi"); result.Text() != "hi" {
		t.Errorf("the second result: %q", result.Text())
	}
}

func TestLimitsComeFromTheEnvironment(t *testing.T) {
	r := newRig(t, nil, &bash.Options{Environ: []string{"BASH_DEFAULT_TIMEOUT_MS=7", "HAFT_BASH_TIMEOUT_MS=150", "BASH_MAX_TIMEOUT_MS=2000", "BASH_MAX_OUTPUT_LENGTH=2000"}, EndAtLimit: true})
	if _, out := r.bash(t, "sleep 600"); out.TimedOutAfterMS != 150 {
		t.Errorf("timed out after %d ms", out.TimedOutAfterMS)
	}
	if _, out := newRig(t, nil, &bash.Options{Environ: []string{"CLAUDE_BASH_TIMEOUT_MS=160"}, EndAtLimit: true}).bash(t, "sleep 600"); out.TimedOutAfterMS != 160 {
		t.Errorf("by the other name, timed out after %d ms", out.TimedOutAfterMS)
	}
	_, err := r.call(t.Context(), "Bash", "", `{"command":"true","timeout":2001}`)
	if forModel := new(tool.Error); !errors.As(err, &forModel) {
		t.Errorf("a timeout over the limit: %v", err)
	}
	result, out := r.bash(t, "seq 10000")
	if len(result.Text()) > 2000 || out.PersistedPath == "" || out.PersistedSize != 48894 {
		t.Errorf("%d bytes of text, file %q of %d bytes", len(result.Text()), out.PersistedPath, out.PersistedSize)
	}
}

// Escapes are stripped for the model unless a setting keeps them; the file
// always has them.
func TestEscapesAreASetting(t *testing.T) {
	const command = `printf '\033[31mred\033[0m'`
	if _, out := newRig(t, nil, nil).bash(t, command); out.Stdout != "red" {
		t.Errorf("output %q", out.Stdout)
	}
	if _, out := newRig(t, nil, &bash.Options{KeepEscapes: true}).bash(t, command); out.Stdout != "\x1b[31mred\x1b[0m" {
		t.Errorf("output %q", out.Stdout)
	}
}

// A command that was approved as a preview does not run in another way if the preview is
// gone.
func TestAPreviewThatIsGoneIsNotRun(t *testing.T) {
	r := newRig(t, nil, nil)
	mark := filepath.Join(t.TempDir(), "ran")
	input, _ := json.Marshal(bash.Input{Command: "touch " + mark})
	c := &tool.Call{ID: "call-0", Tool: "Bash", Input: input, Session: r.set.Session(), Tools: r.set, Confinement: tool.Previewed}
	if _, err := r.set.Lookup("Bash").Run(t.Context(), c); !errors.Is(err, tool.ErrUnapproved) {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
}

// A relative rm -rf * would hit what lies beside the project.
func TestOnceTheProjectIsGoneNoCommandRuns(t *testing.T) {
	above := t.TempDir()
	project := filepath.Join(above, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	var told []string
	r := newRig(t, nil, &bash.Options{Dir: project, Gone: func(dir string) { told = append(told, dir) }})
	if _, err := r.call(t.Context(), "Bash", "", `{"command":"rm -r ../project"}`); err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{`{"command":"touch beside"}`, `{"command":"touch beside","run_in_background":true}`} {
		_, err := r.call(t.Context(), "Bash", "", input)
		if err == nil || !strings.HasPrefix(err.Error(), "The command was not run: the folder "+project+" no longer exists") {
			t.Errorf("%s: %v", input, err)
		}
	}
	if entries, err := os.ReadDir(above); err != nil || len(entries) > 0 {
		t.Errorf("beside the project: %v, %v", entries, err)
	}
	if diff := cmp.Diff([]string{project}, told); diff != "" {
		t.Errorf("the user was told (-want +got):\n%s", diff)
	}
}

// A command that sets no timeout has two minutes, and may have ten.
func TestTheModelIsToldTheTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		want    string
	}{
		"as they are": {nil, "default 120000, maximum 600000"},
		"as set":      {[]string{"BASH_DEFAULT_TIMEOUT_MS=3000", "BASH_MAX_TIMEOUT_MS=4000"}, "default 3000, maximum 4000"},
	} {
		r := newRig(t, nil, &bash.Options{Environ: c.environ})
		if said := r.set.Lookup("Bash").Describe(r.set.Session()); !strings.Contains(said, c.want) {
			t.Errorf("%s: %q is not in %s", name, c.want, said)
		}
	}
}
