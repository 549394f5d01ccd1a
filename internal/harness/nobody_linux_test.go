package harness_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// nobodyEnv says that a test runs as an ordinary user, and where its data is.
const nobodyEnv = "HAFT_TEST_NOBODY"

// asNobody runs the calling test of root again as an ordinary user, with a copy of
// a folder if it names one: others cannot get at those of root.
func asNobody(t *testing.T, data string) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "nobody") // not t.TempDir, which is for root only
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if data != "" {
		if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(data)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "XDG_CACHE_HOME=", "GOCACHE=", "GOCOVERDIR="+dir, nobodyEnv+"="+filepath.Join(dir, "data"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}
