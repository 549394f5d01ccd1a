//go:build unix

package harness_test

import (
	"os"
	"os/exec"
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

// haft itself starts no program of the project, even if PATH leads there first.
func TestHaftStartsNoProgramOfTheProject(t *testing.T) {
	r := newRig(t, uses("Bash", `{"command":"touch new.txt","description":"x"}`), says("done"))
	marker := filepath.Join(t.TempDir(), "ran")
	for _, name := range []string{"git", "bash", "sh"} {
		r.write("bin/"+name, "#!/bin/sh\necho "+name+" \"$@\" >>"+marker+"\n")
		if err := os.Chmod(filepath.Join(r.dir, "bin", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", r.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".bashrc"), []byte("git --version\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(r.dir, "bin")+":"+os.Getenv("PATH"))
	c := r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{})
	defer c.Close(t.Context())
	if _, last := r.say(c, "begin"); last.Text != "done" {
		t.Fatalf("%+v", last)
	}
	if ran, err := os.ReadFile(marker); err == nil {
		t.Errorf("haft ran programs of the project:\n%s", ran)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "new.txt")); err != nil {
		t.Errorf("the command did not run: %v", err)
	}
}
