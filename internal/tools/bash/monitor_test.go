package bash_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/tools/bash"
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

// TestMonitorWaitsForAFile, alone and beside a command, whichever comes first.
func TestMonitorWaitsForAFile(t *testing.T) {
	r := newRig(t, nil, nil)
	path := filepath.Join(t.TempDir(), "marker")
	do := map[string]func() error{
		"created": func() error { return os.WriteFile(path, nil, 0o644) },
		"changed": func() error { return os.WriteFile(path, []byte("more"), 0o644) },
		"deleted": func() error { return os.Remove(path) },
	}
	id := r.background(t, "sleep 600")
	for _, change := range []string{"created", "changed", "deleted"} {
		for _, command := range []string{"", `"bash_id":"` + id + `",`} {
			if command != "" && change != "changed" {
				continue
			}
			input := fmt.Sprintf(`{%s"file_path":%q,"timeout":20}`, command, path)
			if result, err := r.call(t.Context(), "Monitor", "", input); err != nil || result.Output.(bash.MonitorOutput).Event != "timeout" {
				t.Errorf("nothing happens: %+v, %v", result, err)
			}
			began := make(chan error, 1)
			time.AfterFunc(250*time.Millisecond, func() { began <- do[change]() })
			result, err := r.call(t.Context(), "Monitor", "", strings.Replace(input, "20}", "60000}", 1))
			if err != nil || <-began != nil {
				t.Fatal(err)
			}
			if out := result.Output.(bash.MonitorOutput); out.Event != "file" || out.Change != change || out.FilePath != path || (command != "") != (out.Status == "running") {
				t.Errorf("%s: %+v", change, out)
			}
			if !strings.HasPrefix(result.Text(), path+" was "+change+".\n") {
				t.Errorf("the model reads %q", result.Text())
			}
			if change == "changed" {
				if err := os.WriteFile(path, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	id = r.background(t, "sleep 0.2")
	if result, err := r.call(t.Context(), "Monitor", "", fmt.Sprintf(`{"bash_id":%q,"file_path":%q,"timeout":60000}`, id, path)); err != nil || result.Output.(bash.MonitorOutput).Event != "exit" {
		t.Errorf("the command ends first: %+v, %v", result, err)
	}
}

func TestMonitorRefuses(t *testing.T) {
	r := newRig(t, nil, nil)
	id := r.background(t, "sleep 600")
	for input, want := range map[string]string{
		fmt.Sprintf(`{"bash_id":%q,"pattern":"("}`, id): "pattern is not a valid regular expression",
		`{"bash_id":"b0"}`:                 "There is no background command with the id",
		`{}`:                               "bash_id or file_path is missing",
		`{"file_path":"/x","pattern":"y"}`: "pattern matches lines of a command's output",
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
