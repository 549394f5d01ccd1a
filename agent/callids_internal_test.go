package agent

import (
	"testing"

	"github.com/haftdev/haft/model"
)

func TestCallsHaveNamesThatCanBeSentBack(t *testing.T) {
	history := new(model.History)
	err := history.Append(
		model.Message{Role: model.Assistant, Content: []model.Block{{Type: model.ToolUse, ID: "old", Name: "Bash", Input: []byte(`{}`)}}},
		model.Message{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: "old"}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	var n naming
	n.load(history)
	n.next()
	n.begin()
	seen := map[string]bool{"old": true}
	for i, given := range []string{"toolu_1", "toolu_1", "old", "", "../../x", "a\nb\x1b[31m", "call_ä"} {
		b := model.Block{Type: model.ToolUse, ID: given, Name: "\x1b]0;x\a"}
		n.open(i, &b)
		if !nameable(b.ID) || seen[b.ID] || !nameable(b.Name) {
			t.Errorf("the call %q has the id %q and the name %q", given, b.ID, b.Name)
		}
		seen[b.ID] = true
		whole := model.Block{Type: model.ToolUse, ID: given, Name: "\x1b]0;x\a"}
		if n.close(i, &whole); whole.ID != b.ID || whole.Name != b.Name {
			t.Errorf("the call %q began as %s and ended as %s", given, b.ID, whole.ID)
		}
	}
	good := model.Block{Type: model.ToolUse, ID: "toolu_2", Name: "mcp__a__b-c"}
	if n.open(9, &good); good.ID != "toolu_2" || good.Name != "mcp__a__b-c" {
		t.Errorf("a call with good names became %s, %s", good.ID, good.Name)
	}
}

func TestAnAnswerThatBeginsAgainKeepsItsNames(t *testing.T) {
	var n naming
	n.load(nil)
	n.next()
	for range 2 {
		n.begin()
		b := model.Block{Type: model.ToolUse, ID: "toolu_1", Name: "Bash"}
		n.open(0, &b)
		if n.close(0, &b); b.ID != "toolu_1" {
			t.Errorf("the call is named %s", b.ID)
		}
	}
	n.next()
	n.begin()
	b := model.Block{Type: model.ToolUse, ID: "toolu_1", Name: "Bash"}
	if n.open(0, &b); b.ID == "toolu_1" {
		t.Error("a later answer has the same id again")
	}
}
