//go:build unix

package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
)

// A session that accepts edits asks before it writes what a server, a helper, the environment
// file or git's hooks would run, and before it starts such a server again.
func TestAcceptedEditsDoNotChangeWhatRuns(t *testing.T) {
	r := newRig(t)
	write := func(name string) string {
		return `{"file_path":"` + filepath.Join(r.dir, name) + `","content":"echo changed\n"}`
	}
	calls := []struct {
		tool, input string
		denied      bool
	}{
		{"Bash", `{"command":"sed -i s/exit/echo/ tools/server.sh","description":"x"}`, true},
		{"Bash", `{"command":"cp scripts/other.sh scripts/key.sh","description":"x"}`, true},
		{"Write", write("env.sh"), true},
		{"Write", write("hk/pre-commit"), true},
		{"Write", write("bin/touch"), true},
		{"Bash", `{"command":"cp scripts/other.sh bin/touch","description":"x"}`, true},
		{"Bash", `{"command":"mv tools old","description":"x"}`, true},
		{"Write", write("scripts/new.sh"), false},
		{"Bash", `{"command":"touch new.txt","description":"x"}`, false},
		{"ToolSearch", `{"query":"select:RefreshMcpTools"}`, false},
		{"RefreshMcpTools", `{"server":"s"}`, true},
	}
	for _, name := range []string{"tools/server.sh", "scripts/key.sh", "scripts/other.sh"} {
		r.write(name, "exit 1\n")
	}
	r.write(".git/config", "[core]\n\thooksPath = hk\n")
	r.userSettings(strings.ReplaceAll(`{"mcpServers":{"s":{"command":"sh","args":["DIR/tools/server.sh"]}},"apiKeyHelper":"DIR/scripts/key.sh"}`, "DIR", r.dir))
	t.Setenv("HAFT_ENV_FILE", filepath.Join(r.dir, "env.sh"))
	t.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Join(r.dir, "bin"))
	var turns []script.Turn
	for _, c := range calls {
		turns = append(turns, uses(c.tool, c.input))
	}
	r.play(turns, nil)
	c := r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, _ := r.say(c, "begin")
	var outcomes []*sched.Outcome
	for _, ev := range events {
		if returned, ok := ev.(agent.Returned); ok {
			outcomes = append(outcomes, returned.Outcome)
		}
	}
	if len(outcomes) != len(calls) {
		t.Fatalf("%d of %d calls returned", len(outcomes), len(calls))
	}
	for i, c := range calls {
		if denied := outcomes[i].Status == sched.Denied; denied != c.denied {
			t.Errorf("%s %s: %v, %s; want denied: %v", c.tool, c.input, outcomes[i].Status, outcomes[i].Result.Text(), c.denied)
		}
	}
	for _, name := range []string{"env.sh", "hk", "bin", "old"} {
		if _, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}
