package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/haftdev/haft/tool"
)

// A tool elsewhere is asked for the parts that it has. What it said before it was given the contract
// comes first, and if it does not answer, the call is denied.
func TestAContractAsksTheToolElsewhere(t *testing.T) {
	own := counter()
	var asked []tool.ContractPart
	attached := func(k tool.Contract, before tool.Verdict, fails bool) *tool.Tool {
		far := named("Count")
		far.Permission = nil
		if before.Behavior != tool.NoView {
			far.Permission = func(context.Context, *tool.Call) tool.Verdict { return before }
		}
		asked = nil
		k.Attach(&far, func(ctx context.Context, part tool.ContractPart, c *tool.Call) (json.RawMessage, error) {
			if asked = append(asked, part); fails {
				return nil, errors.New("it is gone")
			}
			return tool.Answer(ctx, &own, part, c)
		})
		return &far
	}
	all := tool.ContractOf(&own)
	c := (&tool.Call{Tool: "Count", Dir: "/d"}).WithInput([]byte(`{"n":12}`))

	far := attached(all, tool.Verdict{}, false)
	if v := far.Permission(t.Context(), c); v.Behavior != tool.Ask || !v.NeedsPerson || v.Reason != "why not" {
		t.Errorf("its view: %+v", v)
	}
	if m := far.MarksOf(c); m.ReadOnly || len(asked) != 2 {
		t.Errorf("marks %+v, asked %v: facts are asked for once", m, asked)
	}
	if p := far.Validate(t.Context(), c.WithInput([]byte(`{"n":-1}`))); p == nil || p.Code != 7 {
		t.Errorf("its check: %+v", p)
	}
	if _, err := far.PreviewOf(t.Context(), c.WithInput([]byte(`{"n":3}`))); err == nil || err.Error() != "not three" {
		t.Errorf("its preview: %v", err)
	}
	if paths, said := far.PathsOf(c), far.Summarize(c)+far.Classify(c); len(paths.Writes) != 1 || said != "a summarycounts" {
		t.Errorf("its facts: %+v, %q", paths, said)
	}

	far = attached(all, tool.Verdict{Behavior: tool.Deny, Reason: "first"}, false)
	if v := far.Permission(t.Context(), c); v.Reason != "first" || len(asked) > 0 {
		t.Errorf("the view before: %+v, asked %v", v, asked)
	}
	for name, k := range map[string]tool.Contract{"all": all, "marks": {Marks: true}, "paths": {Paths: true}, "classify": {Classify: true}, "permission": {Permission: true}} {
		far = attached(k, tool.Verdict{}, true)
		if v := far.Permission(t.Context(), c); v.Behavior != tool.Deny {
			t.Errorf("%s, and no answer: %+v", name, v)
		}
	}
	far = attached(all, tool.Verdict{}, true)
	if m, p := far.MarksOf(c), far.Validate(t.Context(), c); m != (tool.Marks{}) || p == nil {
		t.Errorf("no answer: marks %+v, %v", m, p)
	}
	if far = attached(tool.Contract{}, tool.Verdict{}, true); far.Permission != nil || far.Marks != nil || far.Preview != nil {
		t.Error("parts that the tool does not have are asked for")
	}
}
