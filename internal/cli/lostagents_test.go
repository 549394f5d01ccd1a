//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// TestAKilledSessionNamesItsAgents kills haft while an agent works beside it, and
// continues: the model is told who is gone, and lets the agent continue with what it knew.
func TestAKilledSessionNamesItsAgents(t *testing.T) {
	haft, dir, home := haftCommand(t), t.TempDir(), t.TempDir()
	use := func(name, input string) script.Turn {
		return script.Turn{Blocks: []script.Block{{Text: "one, two"}, {Tool: name, Input: json.RawMessage(input)}}}
	}
	lost := regexp.MustCompile(`- (a[a-z0-9]+) \(general-purpose\): Count stars`)
	server, err := scripttest.Serve(t, &script.Options{Keep: 50, Answer: func(q *script.Request) script.Turn {
		child, id := strings.Contains(q.FirstText(), "HANG"), lost.FindSubmatch(q.Body)
		switch {
		case child && strings.Contains(q.LastText(), "where were you?"):
			if !strings.Contains(string(q.Body), "one, two") {
				return script.Turn{Blocks: []script.Block{{Text: "I know nothing"}}}
			}
			return script.Turn{Blocks: []script.Block{{Text: "three, four"}}}
		case child && q.Turn == 0:
			return use("Sleep", `{"duration_ms":1}`)
		case child:
			return script.Turn{Blocks: []script.Block{{Text: "three"}}, Fault: script.Fault{Break: script.Hang, After: 2}}
		case q.Turn == 0:
			return use("Agent", `{"description":"Count stars","prompt":"HANG: count them","run_in_background":true}`)
		case strings.Contains(string(q.Body), "three, four"):
			return script.Turn{Blocks: []script.Block{{Text: "It has counted on."}}}
		case id != nil && !strings.Contains(string(q.Body), "where were you?"):
			return use("SendMessage", `{"to":"`+string(id[1])+`","message":"where were you?"}`)
		case id != nil:
			return script.Turn{Blocks: []script.Block{{Text: "I wait."}}}
		}
		return script.Turn{Blocks: []script.Block{{Text: "It counts."}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	run := func(args ...string) *exec.Cmd {
		c := exec.Command(haft, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/.cache", "XDG_CONFIG_HOME="+home+"/.config", "CLAUDE_CONFIG_DIR=",
			"ANTHROPIC_BASE_URL="+server.URL(), "ANTHROPIC_API_KEY=x")
		return c
	}
	first := run("-p", "count the stars")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	journal := func() string {
		files, _ := filepath.Glob(filepath.Join(home, ".claude", "projects", "*", "*.jsonl"))
		if len(files) == 0 {
			return ""
		}
		raw, _ := os.ReadFile(files[0])
		return string(raw)
	}
	works := func() bool { // the agent has come so far that there is something to lose
		files, _ := filepath.Glob(filepath.Join(home, ".claude", "projects", "*", "*", "subagents", "*.jsonl"))
		if len(files) == 0 {
			return false
		}
		raw, _ := os.ReadFile(files[0])
		return strings.Contains(string(raw), "tool_result")
	}
	for began := time.Now(); !strings.Contains(journal(), "It counts.") || !works(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("the first turn never ended; the journal:\n%s", journal())
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	out, err := run("-p", "--continue", "go on").CombinedOutput()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "It has counted on.") {
		t.Fatalf("%v\n%s", err, out)
	}
	requests := server.Requests()
	body := string(requests[len(requests)-1].Body)
	if !strings.Contains(body, "These agents were running when the session was interrupted") {
		t.Errorf("the model does not hear of the agent:\n%s", body)
	}
}
