package subagent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// A crew reports what the test says.
type crew struct{ report subagent.Report }

func (crew) Agents() []subagent.Kind {
	return []subagent.Kind{{Name: "general-purpose", Description: "anything", Tools: "all"}, {Name: "Explore", Description: "looks"}}
}

func (c crew) Run(_ context.Context, j subagent.Job, progress func(tool.AgentProgress)) subagent.Report {
	progress(tool.AgentProgress{Agent: "a1", Activity: "Read", ToolUses: 1})
	return c.report
}

func (crew) Start(context.Context, subagent.Job) (subagent.Started, error) {
	return subagent.Started{ID: "a1", Kind: "Explore", Output: "/transcript"}, nil
}

func (crew) Send(_ context.Context, m subagent.Message) (subagent.Sent, error) {
	if m.To == "nobody" {
		return subagent.Sent{}, tool.Errorf("There is no agent %q.", m.To)
	}
	return subagent.Sent{To: m.To, Woken: m.To == "idle"}, nil
}

func (crew) Listed() []subagent.Listed {
	return []subagent.Listed{
		{ID: "a1", Kind: "Explore", Description: "Look for\nthe cause", State: "running"},
		{ID: "a2", Kind: "general-purpose", Name: "ada", Team: "porting", Description: "Port it", State: "completed"},
	}
}

func (crew) NewTeam(context.Context, string, string) (string, error) { return "", nil }
func (crew) EndTeam(context.Context, string) ([]string, error)       { return []string{"ada"}, nil }

func TestConformance(t *testing.T) {
	valid := map[string][]string{
		"Agent": {
			`{"description":"Look","prompt":"Look around."}`,
			`{"description":"Look","prompt":"Look around.","subagent_type":"explore","run_in_background":true}`,
		},
		"ListAgents":  {`{}`, `{"q":"ada"}`},
		"SendMessage": {`{"to":"a1","message":"hi"}`, `{"to":"idle","message":"hi","summary":"greets"}`},
		"TeamCreate":  {`{"team_name":"porting"}`},
		"TeamDelete":  {`{"team_name":"porting"}`},
	}
	for _, tl := range subagent.New(crew{subagent.Report{ID: "a1", Status: subagent.Completed, Text: "done"}}) {
		t.Run(tl.Name, func(t *testing.T) {
			tooltest.Run(t, tooltest.Subject{Tool: tl, Valid: valid[tl.Name], Session: &tool.Session{Flags: map[string]bool{"background": true}}})
		})
	}
}

func TestWhatTheModelReads(t *testing.T) {
	for name, c := range map[string]struct {
		report subagent.Report
		want   string
		failed bool
	}{
		"a finished agent's words": {subagent.Report{ID: "a1", Status: subagent.Completed, Text: "found it", ToolUses: 3}, "found it\n\n[agent a1, 3 calls]", false},
		"one without a word":       {subagent.Report{ID: "a1", Status: subagent.Empty}, "without a report", false},
		"a stalled one says so before its words": {
			subagent.Report{ID: "a1", Status: subagent.Stalled, Text: "so far", Why: "its model stopped answering for 5m0s"},
			"did not finish (stalled): its model stopped answering for 5m0s. Its output so far:\n\nso far", true,
		},
		"one in a copy of the repository": {
			subagent.Report{ID: "a1", Status: subagent.Completed, Text: "done", Worktree: "/w", Branch: "b"}, "its changes are in /w, on the branch b", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			agent := subagent.New(crew{c.report})[0]
			call := &tool.Call{Input: []byte(`{"description":"d","prompt":"p"}`), Progress: func(tool.Progress) {}}
			r, err := agent.Run(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(r.Text(), c.want) || r.Failed != c.failed {
				t.Errorf("failed %v: %q", r.Failed, r.Text())
			}
		})
	}
}

// A crowd is a crew with very many agents.
type crowd struct{ crew }

func (crowd) Agents() (kinds []subagent.Kind) {
	for i := range 2_000 {
		kinds = append(kinds, subagent.Kind{Name: fmt.Sprintf("agent-%04d", i), Description: strings.Repeat("Reviews code. ", 20)})
	}
	return kinds
}

// The list of agents is part of every request: what does not fit is counted, not sent.
func TestTheListOfAgentsIsBounded(t *testing.T) {
	few, many := subagent.New(crew{})[0].Describe(nil), subagent.New(crowd{})[0].Describe(nil)
	if len(many)-len(few) > 25_000 || !strings.Contains(many, "- agent-0000") || !strings.Contains(many, "more, not listed for lack of space)") {
		t.Errorf("%d characters more: %.300s … %s", len(many)-len(few), many, many[len(many)-200:])
	}
	if strings.Contains(few, "not listed") {
		t.Errorf("a short list is cut: %s", few)
	}
}

// A program that adds up what agents cost reads totals that are 0 as well, and none
// of an agent that still works.
func TestTotalsOfNothing(t *testing.T) {
	for input, want := range map[string][]any{
		`{"description":"d","prompt":"p"}`:                          {0.0, 0.0, 0.0},
		`{"description":"d","prompt":"p","run_in_background":true}`: {nil, nil, nil},
	} {
		r, err := subagent.New(crew{subagent.Report{ID: "a1", Status: subagent.Completed, Text: "done"}})[0].Run(t.Context(), &tool.Call{Input: []byte(input), Progress: func(tool.Progress) {}})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(r.Output)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, []any{got["totalToolUseCount"], got["totalDurationMs"], got["totalTokens"]}); d != "" {
			t.Errorf("%s (-want +got):\n%s", input, d)
		}
	}
}

func TestAnUnknownKindIsNamedWithTheOthers(t *testing.T) {
	agent := subagent.New(crew{})[0]
	p := agent.Validate(t.Context(), &tool.Call{Input: []byte(`{"description":"d","prompt":"p","subagent_type":"nope"}`)})
	if p == nil || !strings.Contains(p.Message, "general-purpose, Explore") {
		t.Errorf("%+v", p)
	}
}

func TestListAgents(t *testing.T) {
	set := tool.NewSet(nil, subagent.New(crew{}), nil, nil)
	for input, want := range map[string]string{
		`{}`:             "a1: running, Explore: Look for the cause\na2 (ada) of team porting: completed, general-purpose: Port it",
		`{"q":"ADA"}`:    "a2 (ada) of team porting: completed, general-purpose: Port it",
		`{"q":"nobody"}`: "No agents match.",
	} {
		r, err := set.Lookup("ListAgents").Run(t.Context(), &tool.Call{Input: []byte(input)})
		if err != nil || r.Text() != want {
			t.Errorf("%s: %q, %v", input, r.Text(), err)
		}
	}
}
