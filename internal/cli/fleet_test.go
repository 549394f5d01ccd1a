package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestTheFleetIsFoundOrItIsSaidHowToGetIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := findFleet(); err == nil || !strings.Contains(err.Error(), "go build") {
		t.Errorf("without it: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "haft-fleet"), []byte("#!/bin/sh\necho \"$@\"\nexit 4\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := newFleet(Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	cmd.SetArgs([]string{"worker", "--slots", "2"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	var code codeError
	if !errors.As(err, &code) || code != 4 || out.String() != "worker --slots 2\n" {
		t.Errorf("said %q, %v", out.String(), err)
	}
}
