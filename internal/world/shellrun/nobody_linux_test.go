package shellrun

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unprivileged runs the calling test as an ordinary user: when that is not who
// runs it, in a process of its own, and then reports true.
func unprivileged(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "nobody") // others cannot get at t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "GOCOVERDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	return true
}

func TestADirectoryThatCannotBeEnteredHeals(t *testing.T) {
	if unprivileged(t) {
		return
	}
	home := t.TempDir()
	s := newTestHost(t, nil).NewShell(home)
	run(t, s, "mkdir closed; cd closed")
	run(t, s, "chmod 000 .")
	task := run(t, s, "pwd; chmod 700 closed")
	if r := task.Result(); text(task) != home+"\n" || r.DirHealed != filepath.Join(home, "closed") || r.Status.Code != 0 {
		t.Errorf("output %q, result %+v", text(task), r)
	}
}

// What a provider's key is in must not be a cat away.
func TestCommandsCannotLookIntoTheHarness(t *testing.T) {
	if unprivileged(t) {
		return
	}
	h := newTestHost(t, nil)
	s := h.NewShell("/")
	run(t, s, "true")
	for who, pid := range map[string]string{"harness": fmt.Sprint(os.Getpid()), "keeper": keeperOf(t, h)} {
		for _, file := range []string{"environ", "mem", "fd/3"} {
			task := run(t, s, "cat /proc/"+pid+"/"+file)
			if !strings.HasSuffix(text(task), ": Permission denied\n") {
				t.Errorf("%s of the %s: %.60q", file, who, text(task))
			}
		}
	}
	if task := run(t, s, "cat /proc/self/environ | wc -c"); strings.TrimSpace(text(task)) == "0" {
		t.Error("a command cannot look into itself")
	}
}
