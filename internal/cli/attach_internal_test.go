package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/plain"
	"github.com/haftdev/haft/wire"
)

// What a call reports is shown once, and less and less often while it runs.
func TestProgressIsShownInLines(t *testing.T) {
	var out bytes.Buffer
	f := &attachFlags{Streams: Streams{Out: &out}, greeted: make(chan struct{})}
	close(f.greeted)
	for i := range 100 {
		f.heard(&wire.ToolProgress{ToolUseID: "a", ToolName: "Bash", State: wire.CallExecuting, ElapsedTimeSeconds: float64(i) / 4, Progress: json.RawMessage(fmt.Sprintf(`{"type":"bash_progress","output":"more\nline %d\n"}`, i))})
	}
	f.heard(&wire.ToolProgress{ToolUseID: "a", ToolName: "Bash", State: wire.CallCompleted})
	f.heard(&wire.ToolProgress{ToolUseID: "b", ToolName: "mcp__s__t", State: wire.CallQueued})
	for range 2 {
		f.heard(&wire.ToolProgress{ToolUseID: "b", ToolName: "mcp__s__t", State: wire.CallExecuting, ElapsedTimeSeconds: 9, Progress: json.RawMessage(`{"type":"mcp_progress","progress":3,"total":10}`)})
	}
	want := ""
	for _, i := range []int{0, 4, 8, 12, 16, 20, 24, 29, 35, 42, 51, 62, 75, 90} {
		want += fmt.Sprintf("  … Bash, %.0f s: line %d\n", float64(i)/4, i)
	}
	want += "  … mcp__s__t, 9 s: 3 of 10\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

// TestOnlyAnAnswerDecides answers the question of a session that runs elsewhere. What is no
// answer asks again.
func TestOnlyAnAnswerDecides(t *testing.T) {
	for _, c := range []struct {
		name  string
		typed []string
		want  wire.PermissionAnswer
		again int
	}{
		{"yes", []string{"y"}, wire.PermissionAnswer{Behavior: wire.BehaviorAllow}, 0},
		{"no, and why", []string{"n use ninja"}, wire.PermissionAnswer{Behavior: wire.BehaviorDeny, Message: "The user denied this call. They say: use ninja"}, 0},
		{"a word that is no answer", []string{"maybe", "now fix the docs", "yes"}, wire.PermissionAnswer{Behavior: wire.BehaviorAllow}, 2},
		{"a word that begins like one", []string{"never", "no"}, wire.PermissionAnswer{Behavior: wire.BehaviorDeny, Message: "The user denied this call. Do not try to do it another way; ask what they would like instead."}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				f := &attachFlags{person: plain.NewPerson(&out), greeted: make(chan struct{})}
				close(f.greeted)
				answer := make(chan any, 1)
				go func() {
					a, err := f.asked(t.Context(), &wire.CanUseTool{ToolName: "Bash", Input: json.RawMessage(`{"command":"make it","timeout":5}`), DecisionReason: "no rule allows it"})
					if err != nil {
						t.Error(err)
					}
					answer <- a
				}()
				synctest.Wait()
				time.Sleep(time.Second)
				for _, line := range c.typed {
					if !f.person.Hear(line) {
						t.Errorf("%q was sent to the model", line)
					}
					synctest.Wait()
				}
				if d := cmp.Diff(any(c.want), <-answer); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				const asked = "\nRun this command?\n    make it\nAsked because no rule allows it.\ny: allow once · n [reason]: deny > "
				if got := out.String(); got != asked+strings.Repeat("Please answer y or n: ", c.again) {
					t.Errorf("the user saw\n%s", got)
				}
			})
		})
	}
}

// A question is that of the terminal where the session runs: a command that was previewed has
// run, and what becomes of each file is said.
func TestAnAttachedQuestionIsThatOfTheTerminal(t *testing.T) {
	got := questionOf(&wire.CanUseTool{
		ToolName: "Bash", Input: json.RawMessage(`{"command":"./clean"}`), DecisionReason: "no rule allows it",
		Change: &wire.Change{Ran: true, Files: []wire.FileChange{
			{Path: "/p/a\x1b", Before: &wire.FileVersion{Size: 2, SHA256: "1", Mode: "0644"}, Hunks: []wire.Hunk{{Lines: []string{"-a", ""}}}},
			{Path: "/p/b", After: &wire.FileVersion{Size: 2, SHA256: "2", Mode: "0755"}, Hunks: []wire.Hunk{{Lines: []string{"+b"}}}},
			{Path: "/p/c", Before: &wire.FileVersion{Size: 2, SHA256: "1", Binary: true}, After: &wire.FileVersion{Size: 3, SHA256: "2", Binary: true}},
		}},
	})
	const want = `
Apply the changes that this command made?
    ./clean
    The command has run, but nothing has been applied yet: 1 changed, 1 added, 1 deleted.
    If you allow it, these changes are applied. The command does not run again.
    /p/a\u{1b} (deleted)
    -a
    /p/b (new file, mode -rwxr-xr-x)
    +b
    /p/c (binary, 2 bytes → 3 bytes)
Asked because no rule allows it.
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
