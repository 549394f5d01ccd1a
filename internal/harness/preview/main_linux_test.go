package preview_test

import (
	"os"
	"testing"

	"github.com/haftdev/haft/internal/world/shellrun"
)

var reexec shellrun.Reexec

func TestMain(m *testing.M) {
	reexec = shellrun.Supervise()
	if dir := os.Getenv(applierEnv); dir != "" {
		applierMain(dir)
		return
	}
	os.Exit(m.Run())
}
