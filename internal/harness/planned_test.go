package harness_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// TestAPlanIsMadeAndCarriedOut is a conversation in which the model asks to plan, tries
// to write all the same, asks a question, shows its plan and then writes. The user
// agrees to everything that they are asked.
func TestAPlanIsMadeAndCarriedOut(t *testing.T) {
	dir := planProject(t)
	early, late := filepath.Join(dir, "early"), filepath.Join(dir, "late")
	const question = `{"questions":[{"question":"Which?","header":"Kind","options":[{"label":"A","description":""},{"label":"B","description":""}]}]}`
	use := func(name, input string) script.Turn {
		return script.Turn{Blocks: []script.Block{{Tool: name, Input: json.RawMessage(input)}}}
	}
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
		use("EnterPlanMode", `{}`), use("Write", in("file_path", early, "content", "x")), use("AskUserQuestion", question),
		use("ExitPlanMode", `{"plan":"Write late."}`), use("Write", in("file_path", late, "content", "x")),
		{Blocks: []script.Block{{Text: "Done."}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	w, err := harness.Open(&harness.Options{Dir: dir, Mode: "acceptEdits", Reexec: shellrun.Supervise()})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	talk, err := w.Talk(t.Context(), &harness.TalkOptions{
		Client: anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "none"}), Interactive: true, Forget: true,
		Person: sched.AskerFunc(func(_ context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
			asked = append(asked, c.Call.Tool)
			v := tool.Verdict{Behavior: tool.Allow, Input: c.Call.Input}
			if c.Call.Tool == "AskUserQuestion" {
				v.Input = json.RawMessage(question[:len(question)-1] + `,"answers":{"Which?":"B"}}`)
			}
			return v, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer talk.Close(t.Context())
	talk.Send(agent.Prompt{Content: []model.Block{model.TextOf("Do it.")}})
	var modes []string
	for ev, err := range talk.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if changed, ok := ev.(agent.Changed); ok && changed.What == agent.Mode {
			modes = append(modes, changed.Value.(string))
		}
	}
	if d := cmp.Diff([]string{"plan", "acceptEdits"}, modes); d != "" {
		t.Errorf("modes (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"EnterPlanMode", "AskUserQuestion", "ExitPlanMode"}, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
	if _, err := os.Stat(early); err == nil {
		t.Error("a file was written in plan mode")
	}
	if _, err := os.Stat(late); err != nil {
		t.Errorf("nothing was written after the plan: %v", err)
	}
	if results := resultsOf(t, talk.Agent.History()); !slices.Contains(results, "The user answered:\n- Which? B") || !slices.Contains(results, "The user approved the plan. Begin, and keep a todo list if it has several steps.") {
		t.Errorf("results: %q", results)
	}
}

// resultsOf returns what the model read of its calls.
func resultsOf(t *testing.T, h *model.History) (texts []string) {
	t.Helper()
	for i := range h.Len() {
		m, err := h.Message(i)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range m.Content {
			if b.Type == model.ToolResult {
				texts = append(texts, tool.JoinText(b.Content))
			}
		}
	}
	return texts
}
