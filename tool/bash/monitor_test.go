package bash_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/tool/bash"
	"github.com/haftdev/haft/tool/tooltest"
)

func TestMonitorConforms(t *testing.T) {
	r := newRig(t, nil, nil)
	s := r.subject(t, "Monitor")
	id := r.background(t, "yes ready | head -100; sleep 600")
	s.Valid = []string{fmt.Sprintf(`{"bash_id":%q,"pattern":"rea.y"}`, id), fmt.Sprintf(`{"bash_id":%q,"timeout":5}`, id)}
	s.Slow = fmt.Sprintf(`{"bash_id":%q,"timeout":600000}`, id)
	tooltest.Run(t, s)
}

func (r *rig) monitor(t testing.TB, id, pattern string, timeout int) bash.MonitorOutput {
	t.Helper()
	result, err := r.call(t.Context(), "Monitor", "", fmt.Sprintf(`{"bash_id":%q,"pattern":%q,"timeout":%d}`, id, pattern, timeout))
	if err != nil {
		t.Fatal(err)
	}
	return result.Output.(bash.MonitorOutput)
}

// TestMonitorWaitsForALine lets the command continue only after each answer, so that
// nothing but the line itself can have ended the wait.
func TestMonitorWaitsForALine(t *testing.T) {
	r := newRig(t, nil, nil)
	gate := filepath.Join(t.TempDir(), "gate")
	if _, out := r.bash(t, "mkfifo "+gate); out.ExitCode != 0 {
		t.Fatal(out)
	}
	id := r.background(t, "echo starting; echo ready 1; read x <"+gate+"; echo other; echo ready 2; read x <"+gate+"; printf 'ready 3'; exit 3")
	pass := func() {
		if err := os.WriteFile(gate, []byte("\n"), 0); err != nil {
			t.Error(err)
		}
	}
	if out := r.monitor(t, id, "^ready", 60_000); out.Event != "line" || out.Line != "ready 1" || out.Status != "running" {
		t.Errorf("got %+v", out)
	}
	if out := r.monitor(t, id, "^ready", 50); out.Event != "timeout" || out.Status != "running" {
		t.Errorf("the same line again: %+v", out)
	}
	go pass()
	if out := r.monitor(t, id, "^ready", 60_000); out.Line != "ready 2" {
		t.Errorf("got %+v", out)
	}
	go pass()
	if out := r.monitor(t, id, "^ready", 60_000); out.Line != "ready 3" || out.ExitCode == nil || *out.ExitCode != 3 {
		t.Errorf("a last line without its end: %+v", out)
	}
	if out := r.monitor(t, id, "^ready", 60_000); out.Event != "exit" || out.Status != "failed" {
		t.Errorf("got %+v", out)
	}
	if result, err := r.call(t.Context(), "BashOutput", "", fmt.Sprintf(`{"bash_id":%q}`, id)); err != nil || !strings.Contains(result.Text(), "ready 1\nother\nready 2\nready 3") {
		t.Errorf("the output is not unread any more: %q, %v", result.Text(), err)
	}
}

func TestMonitorWaitsForTheEnd(t *testing.T) {
	r := newRig(t, nil, nil)
	id := r.background(t, "sleep 0.3; echo no match; exit 4")
	for _, pattern := range []string{"", "never"} {
		if out := r.monitor(t, id, pattern, 60_000); out.Event != "exit" || *out.ExitCode != 4 {
			t.Errorf("%q: %+v", pattern, out)
		}
	}
}

func TestMonitorRefuses(t *testing.T) {
	r := newRig(t, nil, nil)
	id := r.background(t, "sleep 600")
	for input, want := range map[string]string{
		fmt.Sprintf(`{"bash_id":%q,"pattern":"("}`, id): "pattern is not a regular expression",
		`{"bash_id":"b0"}`: "No background command has the id",
	} {
		if _, err := r.call(t.Context(), "Monitor", "", input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.call(ctx, "Monitor", "", fmt.Sprintf(`{"bash_id":%q}`, id)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
