package shellrun

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/haftdev/haft/sandbox"
)

// runBoxed runs a command in a shell, confined.
func runBoxed(t testing.TB, s *Shell, box *sandbox.Spec, command string) *Task {
	t.Helper()
	task, err := s.Run(t.Context(), Request{Command: command, Timeout: 30 * time.Second, Box: box})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestACommandThatReadsCannotWrite(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		project := t.TempDir()
		writeFiles(t, project, map[string]string{"file": "text\n"})
		s := newTestHost(t, nil).NewShell(project)
		box := &sandbox.Spec{Read: []string{project}, KeepSignals: true}
		task := runBoxed(t, s, box, `cat file; for f in file new /etc/haft-test /haft-test; do (: >>$f) 2>/dev/null && echo wrote $f; done; echo note >/tmp/haft-test-note; id -u`)
		if got, want := text(task), "text\n"+strconv.Itoa(os.Geteuid())+"\n"; got != want {
			t.Errorf("output %q, want %q", got, want)
		}
		if got := text(runBoxed(t, s, box, "cat /tmp/haft-test-note")); got != "note\n" {
			t.Errorf("the private /tmp is not that of the command before: %q", got)
		}
		if _, err := os.Stat("/tmp/haft-test-note"); err == nil {
			t.Error("/tmp is not private")
		}
		if got := task.Result().Status.Tier; got != sandbox.TierBox {
			t.Errorf("tier %s", got)
		}
	})
}

func TestACommandOfTheProjectWritesThereOnly(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		project, other := t.TempDir(), t.TempDir()
		s := newTestHost(t, nil).NewShell(project)
		task := runBoxed(t, s, &sandbox.Spec{Write: []string{project}, Read: []string{other}}, "echo 1 >made; (echo 2 >"+other+"/made) 2>/dev/null || echo refused; mkdir sub; cd sub")
		if got := text(task); got != "refused\n" || s.Dir() != filepath.Join(project, "sub") {
			t.Errorf("output %q, then in %s", got, s.Dir())
		}
		if got := tree(t, project); got["made"] != "1\n" || len(tree(t, other)) != 0 {
			t.Errorf("the project has %v, the other folder %v", got, tree(t, other))
		}
	})
}
