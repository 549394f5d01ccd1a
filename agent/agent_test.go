package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
)

func TestTurn(t *testing.T) {
	f := &fake{t: t, answers: []reply{
		says(thinks("Two echoes."), text("I will ask."), use("a", "Echo", `{"say":"one"}`), use("b", "Echo", `{"say":"two"}`)),
		says(text("It said one and two.")),
	}}
	a := start(t, world(f))
	evs := run(t, a, "echo twice")
	res := result(t, evs)
	if res.Reason != agent.Completed || res.Text != "It said one and two." || res.Requests != 2 || res.Calls != 2 {
		t.Errorf("result: %+v", res)
	}
	if diff := cmp.Diff(model.Usage{Input: 20, Output: 10}, res.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	last := f.requests[1].messages
	var got []string
	for _, b := range last[len(last)-1].Content {
		got = append(got, b.UseID+" "+b.Content[0].Text)
	}
	if diff := cmp.Diff([]string{"a one", "b two"}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if n := len(of[agent.Said](evs)); n != 5 {
		t.Errorf("%d blocks were said, want 5", n)
	}
	if n := len(of[agent.Returned](evs)); n != 2 {
		t.Errorf("%d calls returned, want 2", n)
	}
}
