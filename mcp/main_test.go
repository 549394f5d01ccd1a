package mcp_test

import (
	"os"
	"testing"

	"github.com/haftdev/haft/shellrun"
)

func TestMain(m *testing.M) {
	reexec := shellrun.Supervise()
	if mode := os.Getenv(badEnv); mode != "" {
		os.Exit(badServer(mode))
	}
	if os.Getenv(harnessEnv) != "" {
		harnessMain(reexec)
	}
	os.Exit(m.Run())
}
