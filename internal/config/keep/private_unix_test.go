//go:build unix

package keep_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/config/keep"
)

// TestAFolderOfOthersIsNotTaken: without a home folder, sessions are in the temporary directory, where anybody
// may have made the folder first.
func TestAFolderOfOthersIsNotTaken(t *testing.T) {
	tmp := t.TempDir()
	for name, value := range map[string]string{"TMPDIR": tmp, "HOME": "", "CLAUDE_CONFIG_DIR": "", "HAFT_HOME": ""} {
		t.Setenv(name, value)
	}
	shared := filepath.Join(tmp, fmt.Sprintf("haft-%d", os.Getuid()))
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := keep.Sessions(); !strings.HasPrefix(got, shared+"/") {
		t.Errorf("sessions are in %s, though %s is the user's", got, shared)
	}
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{keep.Sessions(), keep.Log()} {
		if strings.HasPrefix(got, shared+"/") || !strings.HasPrefix(got, tmp+"/") {
			t.Errorf("%s is in a folder that others may write to", got)
		}
	}
	elsewhere := t.TempDir()
	if err := os.Remove(shared); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, shared); err != nil {
		t.Fatal(err)
	}
	if got := keep.Sessions(); strings.HasPrefix(got, shared+"/") {
		t.Errorf("%s is behind a link", got)
	}
}
