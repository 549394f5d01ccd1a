package sysprompt_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/sysprompt"
	"github.com/haftdev/haft/internal/knowledge/style"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

func TestPlanModeIsToldWhenItBegins(t *testing.T) {
	g, err := guard.New(&guard.Options{Roots: []string{t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	engine := permission.NewEngine(permission.Options{Mode: permission.Default, Guard: g})
	remind := sysprompt.Planning(engine, "Draw it first.", false, func() string { return "/s/plan.md" })
	told := func(first bool) string { return strings.Join(remind(t.Context(), first), "\n") }
	if text := told(true); text != "" {
		t.Errorf("in the default mode it is told %q", text)
	}
	engine.SetMode(permission.Plan)
	if text := told(false); !strings.Contains(text, "plan mode") || !strings.Contains(text, "Draw it first.") || strings.Contains(text, "ExitPlanMode") {
		t.Errorf("where no one can approve it is told %q", text)
	}
	if text := told(false); text != "" {
		t.Errorf("it is told twice: %q", text)
	}
	if text := told(true); text == "" {
		t.Error("it is not told again after a compaction")
	}
	engine.SetMode(permission.Default)
	told(false)
	engine.SetMode(permission.Plan)
	if text := told(false); text == "" {
		t.Error("it is not told when the mode comes back")
	}
}

func TestOnceIsOnce(t *testing.T) {
	remind := sysprompt.Once("agents were lost")
	if got := remind(t.Context(), false); len(got) != 1 || got[0] != "agents were lost" {
		t.Errorf("first %q", got)
	}
	if got := remind(t.Context(), true); len(got) != 0 {
		t.Errorf("then %q", got)
	}
}

func TestACompactionCarriesWhatIsLeftToDo(t *testing.T) {
	plan := "1. Paint it."
	todos := todo.NewList(&todo.ListOptions{Items: map[string][]todo.Item{"": {{Content: "buy paint"}}}})
	text := strings.Join(sysprompt.Carry(&plan, todos, task.NewStore(t.TempDir(), nil)), "\n")
	for _, want := range []string{plan, "buy paint"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is lost: %q", want, text)
		}
	}
	if got := sysprompt.Carry(nil, todo.NewList(nil), task.NewStore(t.TempDir(), nil)); len(got) != 0 {
		t.Errorf("carried %q where there is nothing", got)
	}
}

func TestAPromptOfItsOwnReplacesHafts(t *testing.T) {
	set := tool.NewSet(nil, nil, nil, nil)
	texts := func(custom []string) (all string) {
		for _, s := range sysprompt.System(custom, style.Style{}, "Be kind.", set) {
			all += s.Text
		}
		return all
	}
	own := texts(nil)
	if got := texts([]string{"You are a cook."}); !strings.Contains(got, "You are a cook.") || !strings.Contains(got, "Be kind.") || len(got) >= len(own) {
		t.Errorf("replaced: %q", got)
	}
	if !strings.Contains(own, "Be kind.") || len(own) < 100 {
		t.Errorf("haft's own: %q", own)
	}
}
