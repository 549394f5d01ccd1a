package bash_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// subject is the rig's tool of that name, made ready for the suite.
func (r *rig) subject(t *testing.T, name string) tooltest.Subject {
	t.Helper()
	r.bash(t, "true") // the supervisor and its reader stay
	return tooltest.Subject{Tool: *r.set.Lookup(name), Session: r.set.Session(), Tools: r.set}
}

func TestBashConforms(t *testing.T) {
	r := newRig(t, nil, &bash.Options{Analyze: func(command, _ string) *shell.Analysis {
		return &shell.Analysis{ReadOnly: command == "echo hi"}
	}})
	s := r.subject(t, "Bash")
	s.Valid = []string{`{"command":"echo hi"}`, `{"command":"true","timeout":5000,"description":"Do nothing"}`}
	s.Slow = `{"command":"sleep 600"}`
	tooltest.Run(t, s)
}

func TestBashOutputConforms(t *testing.T) {
	r := newRig(t, nil, nil)
	s := r.subject(t, "BashOutput")
	id := r.background(t, "echo one; sleep 600")
	s.Valid = []string{fmt.Sprintf(`{"bash_id":%q}`, id), fmt.Sprintf(`{"bash_id":%q,"filter":"o.e"}`, id)}
	s.Slow = fmt.Sprintf(`{"bash_id":%q,"block":true,"timeout":600000}`, id)
	tooltest.Run(t, s)
}

func TestKillShellConforms(t *testing.T) {
	r := newRig(t, nil, nil)
	s := r.subject(t, "KillShell")
	s.Valid = []string{fmt.Sprintf(`{"shell_id":%q}`, r.background(t, "sleep 600"))}
	tooltest.Run(t, s)
}

func (r *rig) background(t testing.TB, command string) string {
	t.Helper()
	input, err := json.Marshal(bash.Input{Command: command, RunInBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.call(t.Context(), "Bash", "", string(input))
	if err != nil {
		t.Fatal(err)
	}
	return result.Output.(bash.Output).BackgroundTaskID
}

func TestWithoutBackgroundThereIsOneTool(t *testing.T) {
	r := newRig(t, nil, nil)
	set := tool.NewSet(&tool.Session{}, r.tools.List(), nil, nil)
	if len(set.All()) != 1 || set.Lookup("Bash") == nil {
		t.Errorf("tools %v", set.All())
	}
	if _, _, err := set.View(set.Lookup("Bash")).Check([]byte(`{"command":"true","run_in_background":true}`)); err == nil {
		t.Error("run_in_background was accepted")
	}
}
