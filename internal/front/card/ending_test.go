package card_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// held is the result of a command that was confined.
func held(to tool.Confinement, tier string) tool.Result {
	r := tool.Text("x")
	r.Output = bash.Output{Stdout: "x", Confinement: to, Sandbox: tier}
	return r
}

func TestEnd(t *testing.T) {
	began := time.Now()
	for _, c := range []struct {
		name string
		out  sched.Outcome
		want card.Ending
	}{
		{"a short output is all there", sched.Outcome{Result: tool.Text("one\n  two\x1b[2J")},
			card.Ending{OK: true, Line: "one", Output: []string{"one", `  two\u{1b}[2J`}}},
		{"of a long one, both ends", sched.Outcome{Result: tool.Text("1\n2\n" + strings.Repeat("x\n", 496) + "499\n500\n")},
			card.Ending{OK: true, Line: "1", Output: []string{"1", "2", "499", "500"}, Left: 496}},
		{"notes are for the model", sched.Outcome{Result: tool.Text("made\n<bash-notes>\nThe directory is /x.\n</bash-notes>")},
			card.Ending{OK: true, Line: "made", Output: []string{"made"}}},
		{"unless there is nothing else", sched.Outcome{Result: tool.Text("<bash-notes>\nIt runs in the background.\n</bash-notes>")},
			card.Ending{OK: true, Line: "It runs in the background.", Output: []string{"It runs in the background."}}},
		{"marks of an error are for the model", sched.Outcome{Status: sched.Failed, Result: tool.Failure("<tool_use_error>no such file</tool_use_error>")},
			card.Ending{Line: "no such file", Output: []string{"no such file"}}},
		{"what reads like notes is output", sched.Outcome{Result: tool.Text("<bash-notes>\nrm -rf\nx")},
			card.Ending{OK: true, Line: "<bash-notes>", Output: []string{"<bash-notes>", "rm -rf", "x"}}},
		{"an interrupted call", sched.Outcome{Status: sched.Cancelled, Started: began, Ended: began.Add(time.Second), Result: tool.Failure("Cancelled while it ran: the user interrupted the turn.")},
			card.Ending{Line: "interrupted", Brief: true, Stopped: true, Took: time.Second}},
		{"what the person denied", sched.Outcome{Status: sched.Denied, Verdict: tool.Verdict{Behavior: tool.Deny, Reason: "the user denied it"}, Result: tool.Failure("The user denied this call. They say: use make")},
			card.Ending{Line: "you denied it: use make", Brief: true, Verdict: "denied: the user denied it"}},
		{"what a hook denied", sched.Outcome{Status: sched.Denied, Verdict: tool.Verdict{Behavior: tool.Deny, Reason: "hook ./guard.sh --all", Message: "PreToolUse:Bash hook error: not on Fridays"}, Result: tool.Failure("x")},
			card.Ending{Line: "denied: PreToolUse:Bash hook error: not on Fridays", Brief: true, Verdict: "denied: hook ./guard.sh --all"}},
		{"what a rule denied", sched.Outcome{Status: sched.Denied, Verdict: tool.Verdict{Behavior: tool.Deny, Reason: "plan mode"}, Result: tool.Failure("Plan mode allows no changes. Finish the plan first.")},
			card.Ending{Line: "denied: plan mode", Brief: true, Verdict: "denied: plan mode"}},
		{"a command that could only read", sched.Outcome{Result: held(tool.ReadOnly, "box")}, card.Ending{OK: true, Line: "x", Output: []string{"x"}, Confined: "read-only"}},
		{"one that was held to the project by less", sched.Outcome{Result: held(tool.ProjectOnly, "landlock")}, card.Ending{OK: true, Line: "x", Output: []string{"x"}, Confined: "project only by landlock"}},
		{"one that nothing held", sched.Outcome{Result: held(tool.Unconfined, "none")}, card.Ending{OK: true, Line: "x", Output: []string{"x"}, Confined: "not confined"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, card.End(nil, &c.out, nil)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
