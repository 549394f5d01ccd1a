package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// A program may send of a file only its content: the size and the digest follow from it, and what
// it sends itself stays.
func TestAPreviewElsewhereMayBeShort(t *testing.T) {
	far := named("Far")
	(tool.Contract{Preview: true}).Attach(&far, func(context.Context, tool.ContractPart, *tool.Call) (json.RawMessage, error) {
		return json.RawMessage(`{"preview":{"files":[{"path":"/f","before":{"raw":"YQo="},"after":{"text":"YgpjCg==","raw":"YgpjCg=="}},{"path":"/g","after":{"size":9,"digest":"theirs"}}]}}`), nil
	})
	p, err := far.PreviewOf(t.Context(), &tool.Call{Tool: "Far"})
	if err != nil || len(p.Files) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	f, own := p.Files[0], tool.NewVersion(0, []byte("a\n"), []byte("a\n"))
	if !cmp.Equal(f.Before, own) || f.After.Size != 4 || string(f.After.Text) != "b\nc\n" || f.After.Digest == "" {
		t.Errorf("before %+v, after %+v", f.Before, f.After)
	}
	if g := p.Files[1].After; g.Digest != "theirs" || g.Size != 9 {
		t.Errorf("%+v", g)
	}
}
