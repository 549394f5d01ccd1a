//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCommandsRunAnywhere has haft run a command as machines and users differ: in a folder whose
// name has a blank and another letter, with little or no home, for the user who runs the tests
// and, if that is root, for an ordinary one. Nothing but haft's own state stays behind.
func TestCommandsRunAnywhere(t *testing.T) {
	base, err := os.MkdirTemp("", "any\u00e9 where ") // not t.TempDir, which only its user may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	program, err := os.ReadFile(haftCommand(t))
	if err != nil {
		t.Fatal(err)
	}
	haft := filepath.Join(base, "haft")
	if err := os.WriteFile(haft, program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	users := map[string]*syscall.SysProcAttr{"this user": nil}
	if os.Geteuid() == 0 {
		users["an ordinary user"] = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	for user, attr := range users {
		for name, c := range map[string]struct {
			home os.FileMode // 0 for none
			env  string
		}{
			"an empty home":             {0o777, "LANG="},
			"a home that is read-only":  {0o555, "LANG="},
			"no home":                   {0, "LANG="},
			"a plain locale":            {0o777, "LANG=C"},
			"the locale of the Chinese": {0o777, "LANG=zh_CN.UTF-8"},
		} {
			t.Run(user+", "+name, func(t *testing.T) {
				t.Parallel()
				where, err := os.MkdirTemp(base, "")
				if err != nil {
					t.Fatal(err)
				}
				temp, dir := filepath.Join(where, "tmp"), filepath.Join(where, "dir")
				folders := map[string]os.FileMode{where: 0o755, temp: 0o777, dir: 0o777}
				env := []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + temp, "GORACE=" + os.Getenv("GORACE"), c.env}
				if c.home != 0 {
					folders[filepath.Join(where, "home")] = c.home
					env = append(env, "HOME="+filepath.Join(where, "home"))
				}
				for folder, mode := range folders {
					if err := os.MkdirAll(folder, 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.Chmod(folder, mode); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.Command(haft, "tools", "call", "Bash", `{"command": "pwd"}`)
				cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, env, attr
				if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), dir+"\n") {
					t.Errorf("%v, and it printed\n%.2000s", err, out)
				}
				for _, folder := range []string{temp, dir} {
					if folder == temp && c.home != 0o777 {
						continue // haft keeps its state there if there is no home
					}
					if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
						t.Errorf("%s has %v (%v)", folder, left, err)
					}
				}
			})
		}
	}
}
