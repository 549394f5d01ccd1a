package bash_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/tools/bash"
)

// crew has one agent at work, and one that has finished.
type crew struct{ stopped []string }

func (*crew) About(id string) (work, transcript string, ok bool) {
	return "Count stars", "/transcript", id == "a1" || id == "a2"
}

func (c *crew) Stop(id string) bool {
	c.stopped = append(c.stopped, id)
	return id == "a1"
}

func TestOneToolEndsCommandsAndAgents(t *testing.T) {
	agents := new(crew)
	r := newRig(t, nil, &bash.Options{Agents: agents})
	for _, c := range []struct{ tool, input, want string }{
		{"KillShell", `{"shell_id":"a1"}`, "The agent a1 (Count stars) is being stopped."},
		{"KillShell", `{"task_id":"a2"}`, "The agent a2 (Count stars) was no longer running."},
		{"KillShell", `{"task_id":"a3"}`, `There is no background command with the id "a3".`},
		{"BashOutput", `{"bash_id":"a1"}`, "a1 is an agent (Count stars), not a command. You are told when it has finished. Its transcript so far is in /transcript."},
	} {
		result, err := r.call(t.Context(), c.tool, "", c.input)
		got := result.Text()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s says %q, want %q", c.tool, c.input, got, c.want)
		}
	}
	if got := strings.Join(agents.stopped, " "); got != "a1 a2" {
		t.Errorf("stopped %s", got)
	}
}
