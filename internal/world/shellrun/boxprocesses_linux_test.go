package shellrun

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// A confined command sees the processes of the machine and cannot signal them; where the kernel
// cannot keep it from that, it sees its own, and that it looked is known.
func TestWhatACommandSeesOfOtherProcesses(t *testing.T) {
	needtest.Need(t, needtest.Namespaces, "sleep")
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	number := strconv.Itoa(other.Process.Pid)
	for _, hide := range []bool{false, true} {
		t.Run("hidden "+strconv.FormatBool(hide), func(t *testing.T) {
			if !hide && !sandbox.ScopesSignals() {
				t.Skip("this kernel cannot keep commands from signalling what they see")
			}
			project := t.TempDir()
			s := newTestHost(t, func(o *Options) { o.Reexec.HideProcesses = hide }).NewShell(project)
			box := &sandbox.Spec{Write: []string{project}}
			seen := "/proc/" + number + "\nsleep\n"
			if hide {
				seen = ""
			}
			task := runBoxed(t, s, box, "ls -d /proc/[0-9]* 2>/dev/null | grep -x /proc/"+number+"; cat /proc/"+number+"/comm 2>/dev/null; true")
			if got := text(task); got != seen {
				t.Errorf("the command sees %q, want %q", got, seen)
			}
			if missed := task.Result().Status.Missed; slices.Contains(missed, "the other processes of this machine") != hide {
				t.Errorf("the command that listed the processes missed %q", missed)
			}
			if missed := runBoxed(t, s, box, "cat /proc/uptime /proc/self/stat >/dev/null; ls /proc/self/ >/dev/null; ls").Result().Status.Missed; len(missed) > 0 {
				t.Errorf("a command that listed none missed %q", missed)
			}
			if hide {
				return
			}
			task = runBoxed(t, s, box, "kill "+number+" 2>/dev/null; kill -0 "+number+" 2>/dev/null; (tr -d '\\0' </proc/"+number+"/environ) 2>/dev/null; echo lives")
			if got, missed := text(task), task.Result().Status.Missed; got != "lives\n" || !slices.Equal(missed, []string{"process " + number + " (sleep)"}) {
				t.Errorf("output %q, missed %q", got, missed)
			}
		})
	}
}

// Commands that may write end what earlier ones have left running, whatever each is confined to;
// those that only read cannot.
func TestCommandsSignalWhatTheSessionStarted(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	asBoth(t, func(t *testing.T) {
		for _, hide := range []bool{false, true} {
			project, more := t.TempDir(), t.TempDir()
			s := newTestHost(t, func(o *Options) { o.Reexec.HideProcesses = hide }).NewShell(project)
			for _, way := range []string{"kill $p", "kill -- -$p", "/usr/bin/perl -e 'exit !kill 15, $ARGV[0]' $p"} {
				job, err := s.Start(t.Context(), Request{Command: "echo $$ >n; mv n pid; while :; do sleep 1; done", Box: &sandbox.Spec{Write: []string{project}}})
				if err != nil {
					t.Fatal(err)
				}
				if !awaitFile(filepath.Join(project, "pid")) {
					t.Fatal("the job did not start")
				}
				if !hide && sandbox.ScopesSignals() {
					if got := text(runBoxed(t, s, &sandbox.Spec{Read: []string{project}, KeepSignals: true}, "p=$(cat pid); "+way+" 2>/dev/null && echo sent")); got != "" {
						t.Errorf("a command that reads: %s: %s", way, got)
					}
				}
				task := runBoxed(t, s, &sandbox.Spec{Write: []string{project, more}}, "p=$(cat pid); "+way+" && echo sent")
				if got := text(task); got != "sent\n" || len(task.Result().Status.Missed) > 0 {
					t.Errorf("%s: %q, missed %q", way, got, task.Result().Status.Missed)
					job.Stop()
				}
				<-job.Done()
				if err := os.Remove(filepath.Join(project, "pid")); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
