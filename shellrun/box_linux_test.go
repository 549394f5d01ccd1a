package shellrun

import (
	"os"
	"path/filepath"
	"strings"
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

func TestSmoke(t *testing.T) {
	if !unprivileged(t) {
		smoke(t)
	} else {
		smoke(t)
	}
}

func smoke(t *testing.T) {
	project := t.TempDir()
	os.WriteFile(filepath.Join(project, "file"), []byte("text\n"), 0o644)
	h := newTestHost(t, nil)
	start := time.Now()
	tier := h.Tier(sandbox.Offline)
	t.Log(tier, tier.Gaps, time.Since(start))
	s := h.NewShell(project)
	for _, c := range []string{"id; cat file; touch file; touch x; echo $?; touch /etc/x; ls -la /tmp /dev /run; echo hi > /tmp/hi; ps ax | head; cat /proc/self/status | grep -i cap; mount | tail -12", "cat /tmp/hi; curl -sS http://example.com/; id -u"} {
		task := runBoxed(t, s, &sandbox.Spec{Read: []string{project}}, c)
		t.Log(task.Result().Status, text(task))
	}
	task := runBoxed(t, s, &sandbox.Spec{Write: []string{project}}, "touch new && ls; cat /tmp/hi; pwd; touch /etc/x; cd /usr")
	t.Log(task.Result().Status, text(task), strings.TrimSpace(s.Dir()))
}
