package headless

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
	"github.com/haftdev/haft/wire/wiretest"
)

// told are the events of each case, and what they pin.
var told = map[string][]agent.Event{
	"a turn begins":            {agent.TurnStarted{Prompts: []agent.Prompt{{UUID: "p1"}, {UUID: "unnamed"}}, Model: "m", Mode: "default", Tools: tool.NewSet(nil, nil, nil, nil)}},
	"a request is made":        {agent.Requesting{Model: "m", Tokens: 10}},
	"an answer arrives":        stream,
	"an answer begins at once": {agent.Streamed{Event: model.Start{ID: "msg", Model: "m"}}},
	"text is said":             {agent.Said{UUID: "a1", MessageID: "msg", Model: "m", Block: model.TextOf("Hello."), Usage: model.Usage{Input: 3, Output: 2}}},
	"a cut text is said":       {agent.Said{UUID: "a1", MessageID: "msg", Model: "m", Block: model.TextOf("Hel"), Aborted: true}},
	"a call is said":           {agent.Said{UUID: "a1", MessageID: "msg", Model: "m", Block: model.Block{Type: model.ToolUse, ID: "toolu_1", Name: "Bash", Input: json.RawMessage(`{"command":"echo <&>"}`)}}},
	"a broken call is said":    {agent.Said{UUID: "a1", MessageID: "msg", Model: "m", Block: model.Block{Type: model.ToolUse, ID: "toolu_1", Name: "Bash", Input: json.RawMessage(`{"comm`)}}},
	"an error is said":         {agent.Said{UUID: "a1", MessageID: "msg", Model: "<synthetic>", Block: model.TextOf("API error"), Error: &model.Error{Kind: model.Overloaded, Status: 529, Type: "overloaded_error"}}},
	"what was said is taken back, which nobody needs to know": {agent.Retracted{MessageID: "msg", UUIDs: []string{"a1"}}},
	"a call runs":     {agent.Called{Event: sched.Event{CallID: "c1", UseID: "toolu_1", Tool: "Bash", State: sched.Executing}}, agent.Called{Event: sched.Event{CallID: "c1", State: sched.Completed}}},
	"a call succeeds": {agent.Returned{UUID: "r1", Outcome: outcome(sched.Succeeded, tool.Allow, "the mode allows it", tool.Result{Content: tool.Text("out").Content, Output: map[string]string{"stdout": "out"}})}},
	"a call fails":    {agent.Returned{UUID: "r1", Outcome: outcome(sched.Failed, tool.Allow, "a rule", tool.Failure("Exit code 1"))}},
	"a call is denied by a rule": {
		agent.Denied{Outcome: outcome(sched.Denied, tool.Deny, "a rule", tool.Failure("denied"))},
		agent.Returned{UUID: "r1", Outcome: outcome(sched.Denied, tool.Deny, "a rule", tool.Failure("denied"))},
	},
	"a call is denied by the program":     {agent.Returned{UUID: "r1", Outcome: outcome(sched.Denied, tool.Deny, byHost, tool.Failure("no"))}},
	"a call is unknown":                   {agent.Returned{UUID: "r1", Outcome: outcome(sched.Unknown, tool.NoView, "", tool.Failure("Error: No such tool available: X"))}},
	"a prompt is not repeated":            {added(agent.Prompted, "hi")},
	"an interruption is told":             {added(agent.Interrupted, "[Request interrupted by user]")},
	"a summary is told":                   {added(agent.Summarized, "what was said")},
	"an instruction is told":              {added(agent.Instructed, "do this")},
	"a reminder is not told":              {added(agent.Reminded, "mind this")},
	"a notification is not told":          {added(agent.Notified, "it ended")},
	"a call waits, which the state tells": {agent.Waiting{CallID: "c1", UseID: "toolu_1", Tool: "Bash"}, agent.Answered{CallID: "c1"}},
	"a request is repeated": {
		agent.Retrying{Retry: model.Retry{Attempt: 1, Max: 10, Delay: 500 * time.Millisecond, Err: &model.Error{Kind: model.RateLimited, Status: 429}}},
		agent.Retrying{Retry: model.Retry{Attempt: 2, Max: 10, Delay: time.Second, Err: &model.Error{Kind: model.ConnectionLost}}},
	},
	"another model takes over":    {agent.FellBack{Fallback: model.Fallback{From: "a", To: "b"}}},
	"a conversation is compacted": {agent.Compacting{Trigger: "auto"}, agent.Compacted{UUID: "k1", Trigger: "auto", PreTokens: 100, Tokens: 10, Duration: time.Second}},
	"a compaction goes wrong":     {agent.Compacting{Trigger: "manual"}, agent.Compacted{Trigger: "manual", Err: errors.New("there is nothing to compact")}},
	"something changes": {
		agent.Changed{What: agent.Mode, Value: "plan"}, agent.Changed{What: agent.Title, Value: "A title"},
		agent.Changed{What: agent.Cleared, Value: "s2"}, agent.Changed{What: agent.ModelName, Value: "m2"},
	},
	"a command runs in the background": {
		agent.TaskChanged{Task: task("local_bash", "running"), Change: "started"},
		agent.TaskChanged{Task: task("local_bash", "completed"), Change: "ended"},
	},
	"an agent works in the foreground": {
		agent.TaskChanged{Task: foreground("running"), Change: "started"},
		agent.TaskChanged{Task: foreground("running"), Change: "progress"},
		agent.Said{UUID: "a1", MessageID: "msg", Model: "m", Block: model.TextOf("not told"), Agent: "t1"},
		agent.Said{UUID: "a2", MessageID: "msg", Model: "m", Block: model.Block{Type: model.ToolUse, ID: "toolu_2", Name: "Read", Input: json.RawMessage(`{}`)}, Agent: "t1"},
		agent.TaskChanged{Task: foreground("completed"), Change: "ended"},
	},
	"a task goes into the background": {
		agent.TaskChanged{Task: foreground("running"), Change: "started"},
		agent.TaskChanged{Task: task("local_agent", "running"), Change: "updated"},
	},
	"a notice is shown":    {agent.Notice{Level: "warning", Text: "Mind the gap.", Tag: "gap"}},
	"the user is notified": {agent.Notice{Level: "notice", Text: "Done.", Tag: agent.Push}},
	"a turn ends well": {agent.Result{UUID: "z1", Reason: agent.Completed, Text: "Done.", Requests: 2, Calls: 3, StopReason: model.EndTurn,
		Usage: model.Usage{Input: 1, Output: 2}, Total: map[string]agent.ModelUsage{"m": {Usage: model.Usage{Input: 1, Output: 2}, Cost: 0.5}}, Prompts: []agent.Prompt{{UUID: "p1"}}}},
	"a turn is over at once":               {agent.Result{UUID: "z1", Reason: agent.Completed, Text: "Done.", Requests: 1, TTFT: new(time.Duration)}},
	"a turn ends with structured output":   {agent.Result{UUID: "z1", Reason: agent.Completed, Text: `{"n":1}`, Structured: []byte(`{"n":1}`), Requests: 1}},
	"a turn answers a notification":        {agent.Result{UUID: "z1", Reason: agent.Completed, Text: "I see.", Requests: 1, Origin: agent.TaskNotification}},
	"a turn ends with an error of the API": {agent.Result{UUID: "z1", Reason: agent.APIError, Text: "API error: no", Errors: []string{"no"}, Err: &model.Error{Kind: model.Unauthorized, Status: 401, Type: "authentication_error"}, Requests: 1}},
	"a turn has its most requests":         {agent.Result{UUID: "z1", Reason: agent.MaxTurns, Errors: []string{"reached maximum number of turns (2)"}, Requests: 2, Calls: 2}},
	"a turn has spent its budget":          {agent.Result{UUID: "z1", Reason: agent.BudgetExhausted, Errors: []string{"reached maximum budget"}, Requests: 1}},
	"a turn is interrupted": {agent.Result{UUID: "z1", Reason: agent.AbortedTools, Errors: []string{"the user interrupted the turn"}, Requests: 1, Calls: 1, Prompts: []agent.Prompt{{UUID: "p1"}},
		Denials: []*sched.Outcome{outcome(sched.Denied, tool.Deny, "", tool.Failure("no"))}}},
	"a turn is cut for an urgent prompt":     {agent.Result{UUID: "z1", Reason: agent.Superseded, Requests: 1, Calls: 1, Queued: 1}},
	"a hook ends a turn":                     {agent.Result{UUID: "z1", Reason: agent.StoppedByHook, Errors: []string{"enough"}, Requests: 1, Calls: 1}},
	"a structured answer never has its form": {agent.Result{UUID: "z1", Reason: agent.StructuredRetries, Errors: []string{"5 answers"}, Requests: 5}},
}

var stream = []agent.Event{
	agent.Streamed{Event: model.Start{ID: "msg", Model: "m", Usage: model.Usage{Input: 3}}, TTFT: 7 * time.Millisecond},
	agent.Streamed{Event: model.BlockStart{Index: 0, Block: model.TextOf("")}},
	agent.Streamed{Event: model.Delta{Index: 0, Type: model.TextDelta, Text: "Hel"}},
	agent.Streamed{Event: model.BlockStop{Index: 0, Block: model.TextOf("Hel")}},
	agent.Streamed{Event: model.BlockStart{Index: 1, Block: model.Block{Type: model.ToolUse, ID: "toolu_1", Name: "Bash", Input: json.RawMessage(`{}`)}}},
	agent.Streamed{Event: model.Delta{Index: 1, Type: model.InputDelta, Text: `{"a`}},
	agent.Streamed{Event: model.BlockStop{Index: 1}},
	agent.Streamed{Event: model.Delta{Index: 2, Type: model.ThinkingDelta, Text: "hm"}},
	agent.Streamed{Event: model.Delta{Index: 2, Type: model.SignatureDelta, Text: "sig"}},
	agent.Streamed{Event: model.Stop{Reason: model.StopToolUse, Usage: model.Usage{Input: 3, Output: 9}}},
}

func outcome(s sched.Status, b tool.Behavior, reason string, r tool.Result) *sched.Outcome {
	rule := ""
	if reason == "a rule" {
		rule = "Bash(rm:*)"
	}
	return &sched.Outcome{CallID: "c1", UseID: "toolu_1", Tool: "Bash", Input: []byte(`{"command":"x"}`), Status: s, Result: r, Verdict: tool.Verdict{Behavior: b, Reason: reason, Rule: rule}}
}

func added(kind agent.AddedKind, text string) agent.Added {
	return agent.Added{UUID: "n1", Kind: kind, Message: model.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}}
}

func task(kind, status string) agent.Task {
	k := agent.Task{ID: "t1", UseID: "toolu_1", Type: kind, Description: "work", Status: status, Background: true, Started: time.UnixMilli(1000)}
	if status != "running" {
		k.Ended, k.Summary, k.OutputFile = time.UnixMilli(3000), "it ended", "/out"
	}
	return k
}

func foreground(status string) agent.Task {
	k := task("local_agent", status)
	k.Background, k.AgentType, k.Prompt, k.LastTool, k.ToolUses, k.Tokens = false, "scout", "look", "Read", 1, 20
	return k
}

// TestEveryEventIsTold pins how events read on the wire.
func TestEveryEventIsTold(t *testing.T) {
	got := &txtar.Archive{Comment: []byte("# What a program is told of each event of a conversation. Written by go test -update.\n")}
	for _, name := range sorted(told) {
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(tellAll(t, told[name]))})
	}
	golden.Check(t, "testdata/events.txtar", string(txtar.Format(got)))
}

// TestNoEventIsForgotten keeps the cases complete.
func TestNoEventIsForgotten(t *testing.T) {
	source, err := os.ReadFile("../../../agent/event.go")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, events := range told {
		for _, ev := range events {
			covered[reflect.TypeOf(ev).Name()] = true
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^func \((\w+)\) event\(\)`).FindAllStringSubmatch(string(source), -1) {
		if !covered[m[1]] {
			t.Errorf("no case tells of agent.%s", m[1])
		}
	}
}

func tellAll(t *testing.T, events []agent.Event) string {
	t.Helper()
	check := wiretest.NewChecker()
	var out strings.Builder
	tell := &teller{
		partial: true, states: true, tasks: map[string]agent.Task{}, agents: map[string]agent.Task{},
		facts:    func(ev agent.TurnStarted) *wire.Init { return &wire.Init{Model: ev.Model, PermissionMode: ev.Mode} },
		modelFor: func(string) (int64, int64) { return 200000, 32000 },
		send: func(m wire.Message) {
			line, err := wire.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := check.Line(line); err != nil {
				t.Error(err)
			}
			out.WriteString(plain(string(line)) + "\n")
		},
	}
	tell.inSession("s1")
	tell.calls = &heartbeats{every: time.Hour, stops: map[string]func() bool{}, beat: tell.heartbeat}
	tell.named.Store("p1", true)
	for _, ev := range events {
		tell.tell(ev)
	}
	return out.String()
}

var varying = regexp.MustCompile(`"uuid":"[0-9a-f]{8}-[0-9a-f-]{27}"|"timestamp":"[^"]*"|"duration_ms":\d{9,}`)

// plain takes out of a line what is never the same twice.
func plain(line string) string {
	return varying.ReplaceAllStringFunc(line, func(s string) string { return s[:strings.Index(s, ":")] + `:"…"` })
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
