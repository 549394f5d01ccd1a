package harness_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// TestAgentsAreListed after they worked, through a whole conversation.
func TestAgentsAreListed(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{
		uses("Agent", `{"description":"Look around","prompt":"CHILD","run_in_background":false}`), uses("ToolSearch", `{"query":"select:ListAgents"}`), uses("ListAgents", `{"q":"look"}`),
	}, map[string][]script.Turn{"CHILD": {says("seen")}})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "begin")
	requests := r.server.Requests()
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, ", general-purpose: Look around") {
		t.Errorf("the agent is not listed: %s", body[max(0, len(body)-800):])
	}
}

// TestServersAreAskedAgainWhatTheyOffer: a tool that a server has changed is taken in.
func TestServersAreAskedAgainWhatTheyOffer(t *testing.T) {
	r := newRig(t,
		uses("ToolSearch", `{"query":"select:RefreshMcpTools"}`), uses("RefreshMcpTools", `{"server":"notes"}`), says("one"),
		uses("RefreshMcpTools", `{"server":"nope"}`), says("two"),
	)
	n := &notebook{words: "Adds a note."}
	c := n.talk(r)
	defer c.Close(t.Context())
	r.say(c, "begin")
	n.mu.Lock()
	lists := strings.Count(strings.Join(n.asked, " "), "tools/list")
	n.mu.Unlock()
	if lists < 2 {
		t.Errorf("the server was asked %d times", lists)
	}
	r.say(c, "again")
	requests := r.server.Requests()
	if body := string(requests[2].Body); !strings.Contains(body, "notes: connected; tools: add") {
		t.Errorf("the model reads %s", body[max(0, len(body)-800):])
	}
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, `There is no MCP server \"nope\"`) {
		t.Errorf("the model reads %s", body[max(0, len(body)-800):])
	}
}
