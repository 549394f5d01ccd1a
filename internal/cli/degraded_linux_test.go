package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// lost is what haft says where user namespaces are off; brings is what doctor says to type.
const (
	lost   = "Commands cannot be previewed here: user namespaces are disabled (user.max_user_namespaces)."
	brings = "sudo sysctl -w user.max_user_namespaces=15000"
)

// withoutNamespaces has a command run where it can make no user namespaces: in one of root, whose limit is 0.
// The limit can be raised again there as doctor says, by writing what sysctl -w writes.
func withoutNamespaces(cmd *exec.Cmd) {
	cmd.Args = append([]string{"sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// TestWhatIsLostIsSaidOnce has a user meet a machine without user namespaces: each command says in one sentence,
// and once, what is lost and why, and doctor what brings it back.
func TestWhatIsLostIsSaidOnce(t *testing.T) {
	needtest.Need(t, needtest.Overlay, needtest.Landlock)
	once := func(t *testing.T, where, text string) {
		t.Helper()
		if n := strings.Count(text, lost); n != 1 || strings.Contains(text, "could not start a process") {
			t.Errorf("%s says %d times what is lost:\n%s", where, n, text)
		}
	}
	t.Run("a conversation", func(t *testing.T) {
		t.Parallel()
		s := newSeat(t, calls("Bash", in{"command": "touch one"}), calls("Bash", in{"command": "touch two"}), says("Made them."))
		s.columns, s.changed = 140, withoutNamespaces
		s.start()
		s.type_("make them\r")
		for _, name := range []string{"one", "two"} {
			s.see("touch " + name)
			s.turnTo()
			s.type_("y")
			s.until("make "+name, func() bool {
				_, err := os.Stat(filepath.Join(s.dir, name))
				return err == nil
			})
		}
		s.see("Made them.")
		once(t, "the screen", s.screen())
		s.leave()
	})
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"doctor":  {[]string{"doctor"}, "  \u2192 " + brings + "\n"},
		"preview": {[]string{"preview", "--", "touch", "one"}, "haft doctor"},
		"demo":    {[]string{"demo", "fix"}, "haft doctor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSeat(t)
			s.env = []string{"GOCACHE=" + goCache()}
			cmd := s.command(c.args...)
			withoutNamespaces(cmd)
			out, err := cmd.CombinedOutput()
			if (err != nil) != (name == "preview") {
				t.Errorf("it ended with %v", err)
			}
			once(t, name, string(out))
			if !strings.Contains(string(out), c.want) {
				t.Errorf("it does not say %q:\n%s", c.want, out)
			}
		})
	}
	t.Run("what doctor says brings it back", func(t *testing.T) {
		t.Parallel()
		setting, value, _ := strings.Cut(strings.TrimPrefix(brings, "sudo sysctl -w "), "=")
		s := newSeat(t)
		cmd := s.command("preview", "--yes", "--", "touch", "one")
		cmd.Args = append([]string{"sh", "-c", `echo "$1" >"$2" && shift 2 && exec "$@"`, "sh", value, "/proc/sys/" + strings.ReplaceAll(setting, ".", "/"), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		withoutNamespaces(cmd)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
