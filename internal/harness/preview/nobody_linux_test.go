package preview_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// nobodyEnv is set for the tests that root runs as an ordinary user.
const nobodyEnv = "HAFT_PREVIEW_NOBODY"

// For root the kernel does other things than for an ordinary user: ids are mapped
// otherwise, and no right is missing. What matters is tried as both.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 || os.Getenv(nobodyEnv) != "" {
		t.Skip("the tests are run by an ordinary user")
	}
	newBench(t, nil)                       // there is a box
	dir, err := os.MkdirTemp("", "nobody") // not t.TempDir, which is for root only
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^Test(APreviewShows|ACommandThat|HardLinks|ARenamed|GitIs|Outside|Forged|Planted|ALink|ADeep|Names|AppliedIs)")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "XDG_CACHE_HOME=", "XDG_STATE_HOME=", nobodyEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}
