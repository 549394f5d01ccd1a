package plan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/plan"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

const aPlan = `{"plan":"1. Do it."}`

func tools(mode func() string) (enter, exit tool.Tool) {
	all := plan.New(&plan.Options{Mode: mode})
	return all[0], all[1]
}

func call(in, mode string) *tool.Call {
	return &tool.Call{Input: []byte(in), Session: &tool.Session{Interactive: true, Mode: mode}}
}

func TestConformance(t *testing.T) {
	enter, exit := tools(nil)
	tooltest.Run(t, tooltest.Subject{Tool: enter, Session: &tool.Session{Interactive: true}, Valid: []string{`{}`}})
	tooltest.Run(t, tooltest.Subject{Tool: exit, Session: &tool.Session{Interactive: true, Mode: "plan"}, Valid: []string{aPlan}})
}

func TestOnlyAPersonCanAgree(t *testing.T) {
	enter, exit := tools(nil)
	for _, v := range []tool.Verdict{enter.Permission(t.Context(), call(`{}`, "")), exit.Permission(t.Context(), call(aPlan, "plan"))} {
		if v.Behavior != tool.Ask || !v.NeedsPerson || v.Message == "" {
			t.Errorf("%+v", v)
		}
	}
	if v := exit.Permission(t.Context(), call(aPlan, "plan")); v.Message != "1. Do it." {
		t.Errorf("the user is shown %q", v.Message)
	}
}

func TestPlanModeEndsInTheModeItBeganIn(t *testing.T) {
	for _, before := range []string{"default", "acceptEdits", "bypassPermissions"} {
		mode := before
		enter, exit := tools(func() string { return mode })
		for _, step := range []struct {
			tool tool.Tool
			in   string
			want string
		}{{enter, `{}`, "plan"}, {exit, aPlan, before}} {
			r, err := step.tool.Run(t.Context(), call(step.in, ""))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&tool.Change{Mode: step.want}, r.Change); d != "" {
				t.Errorf("change (-want +got):\n%s", d)
			}
			mode = step.want
		}
	}
}

func TestASessionThatBeganInPlanModeGoesOnCarefully(t *testing.T) {
	_, exit := tools(nil)
	r, err := exit.Run(t.Context(), call(aPlan, "plan"))
	if err != nil || r.Change.Mode != "default" {
		t.Errorf("%+v, %v", r.Change, err)
	}
}

func TestAModeThatThePersonChoseStays(t *testing.T) {
	_, exit := tools(func() string { return "acceptEdits" }) // set while agreeing
	r, err := exit.Run(t.Context(), call(aPlan, "plan"))
	if err != nil || r.Change != nil {
		t.Errorf("%+v, %v", r.Change, err)
	}
}

func TestAPlanThatThePersonChangedIsShown(t *testing.T) {
	_, exit := tools(nil)
	c := call(`{"plan":"2. Do more."}`, "plan")
	c.Answered = true
	r, err := exit.Run(t.Context(), c)
	if err != nil || !strings.Contains(r.Text(), "2. Do more.") {
		t.Errorf("%s, %v", r.Text(), err)
	}
}

func TestWhatMakesNoSenseIsSaid(t *testing.T) {
	enter, exit := tools(nil)
	of := func(agent string) *tool.Call { c := call(aPlan, "plan"); c.Agent = agent; return c }
	alone := call(aPlan, "plan")
	alone.Session.Interactive = false
	for _, c := range []struct {
		name string
		tool tool.Tool
		call *tool.Call
		want string
	}{
		{"a sub-agent cannot leave plan mode", exit, of("a1"), "Only the main conversation can use plan mode"},
		{"without a person nobody agrees", exit, alone, "No one in this session can approve"},
		{"nor in a session without facts", enter, &tool.Call{Input: []byte(`{}`)}, "No one in this session can approve"},
		{"what is not entered is not left", exit, call(aPlan, "default"), "not in plan mode"},
		{"plan mode is entered once", enter, call(`{}`, "plan"), "already in plan mode"},
		{"plan mode can be left", exit, call(aPlan, "plan"), ""},
		{"plan mode can be entered", enter, call(`{}`, ""), ""},
	} {
		p := c.tool.Validate(t.Context(), c.call)
		switch {
		case c.want == "" && p != nil:
			t.Errorf("%s: %s", c.name, p.Message)
		case c.want != "" && (p == nil || !strings.Contains(p.Message, c.want)):
			t.Errorf("%s: %+v", c.name, p)
		}
	}
	if enter.Enabled(new(tool.Session)) || exit.Enabled(new(tool.Session)) || !enter.Enabled(&tool.Session{Interactive: true}) {
		t.Error("the tools are for sessions with a person")
	}
}

// A plan in its file is the plan of a call that brings none: the one that was shown, whatever becomes
// of the file.
func TestAPlanIsReadFromItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.md")
	exit := plan.New(&plan.Options{File: func() string { return path }})[1]
	tooltest.Run(t, tooltest.Subject{Tool: exit, Session: &tool.Session{Interactive: true, Mode: "plan"}, Valid: []string{aPlan}})
	empty := func() *tool.Call { return call(`{}`, "plan") }
	if p := exit.Validate(t.Context(), empty()); p == nil || !strings.Contains(p.Message, "write it to "+path+" first") {
		t.Errorf("without a file: %+v", p)
	}
	if p := exit.Validate(t.Context(), call(aPlan, "plan")); p != nil {
		t.Errorf("a plan needs no file: %s", p.Message)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{" \n": "There is no plan to show", strings.Repeat("x", 100_001): "it has more than 100000 bytes"} {
		write(text)
		if p := exit.Validate(t.Context(), empty()); p == nil || !strings.Contains(p.Message, want) {
			t.Errorf("%.10q: %+v", text, p)
		}
		if v := exit.Permission(t.Context(), empty()); v.Behavior != tool.Deny {
			t.Errorf("%.10q is shown to the user: %+v", text, v)
		}
	}
	write("1. Do it.")
	if p := exit.Validate(t.Context(), empty()); p != nil {
		t.Fatal(p.Message)
	}
	v := exit.Permission(t.Context(), empty())
	if v.Behavior != tool.Ask || v.Message != "1. Do it." || string(v.Input) != aPlan {
		t.Fatalf("%+v, input %s", v, v.Input)
	}
	for now, file := range map[string]string{"1. Do it.": path, "2. Do harm.": ""} {
		write(now)
		r, err := exit.Run(t.Context(), call(string(v.Input), "plan"))
		if d := cmp.Diff(plan.ExitOutput{Plan: "1. Do it.", File: file, Mode: "default"}, r.Output); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
}

func TestWithoutAFileThePlanIsSent(t *testing.T) {
	_, exit := tools(nil)
	if p := exit.Validate(t.Context(), call(`{}`, "plan")); p == nil || p.Message != `There is no plan to show: send it as "plan".` {
		t.Errorf("%+v", p)
	}
}
