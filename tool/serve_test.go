package tool_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/tool"
)

// counter has every part of the contract.
func counter() tool.Tool {
	type in struct {
		N int `json:"n" jsonschema:"How many."`
	}
	return tool.New(tool.Def[in, string]{
		Name: "Count", Description: "Counts.",
		Marks: func(in in) tool.Marks { return tool.Marks{ReadOnly: in.N == 0} },
		Paths: func(c *tool.Call, _ in) tool.Paths { return tool.Paths{Writes: []string{filepath.Join(c.Dir, "n")}} },
		Validate: func(_ context.Context, _ *tool.Call, in in) *tool.Problem {
			if in.N < 0 {
				return &tool.Problem{Message: "too few", Code: 7}
			}
			return nil
		},
		Permission: func(_ context.Context, _ *tool.Call, in in) tool.Verdict {
			return tool.Verdict{Behavior: tool.Ask, NeedsPerson: in.N > 9, Reason: "why not"}
		},
		Preview: func(_ context.Context, _ *tool.Call, in in) (*tool.Preview, error) {
			if in.N == 3 {
				return nil, errors.New("not three")
			}
			return &tool.Preview{}, nil
		},
		Run: func(_ context.Context, c *tool.Call, in in) (string, error) {
			c.Report(tool.TextProgress{Text: "counting"})
			if in.N == 5 {
				return "", tool.Errorf("five is too many")
			}
			return strings.Repeat("x", in.N) + c.Approved, nil
		},
		Summarize: func(in) string { return "a summary" },
		Classify:  func(in) string { return "counts" },
	})
}

// The main of a tool that is a command answers what it is asked, and says on standard error why it cannot.
func TestServeAnswersEachPart(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	path := strings.ReplaceAll(filepath.Join(dir, "n"), `\`, `\\`)
	t.Setenv("HAFT_TOOL_APPROVED", "!")
	for _, c := range []struct {
		part, input, out, errs string
		code                   int
	}{
		{"run", `{"n":2}`, "xx!", "counting\n", 0},
		{"run", `{"n":5}`, "", "counting\nfive is too many\n", 1},
		{"run", `{"m":5}`, "", "unknown parameter", 1},
		{"facts", `{"n":0}`, `"writes":["` + path + `"]`, "", 0},
		{"facts", `{"n":0}`, `"classify":"counts","summary":"a summary"`, "", 0},
		{"facts", `{"n":0}`, `{"readOnly":true}`, "", 0},
		{"facts", `{"n":1}`, `"marks":{}`, "", 0},
		{"validate", `{"n":-1}`, "too few", "", 0},
		{"validate", `{"n":1}`, "null", "", 0},
		{"permission", `{"n":1}`, `{"behavior":"ask","reason":"why not"}`, "", 0},
		{"permission", `{"n":10}`, `"person":true`, "", 0},
		{"preview", `{"n":1}`, `{"preview":{`, "", 0},
		{"preview", `{"n":3}`, `{"error":"not three"}`, "", 0},
		{"colour", `{"n":3}`, "", `the tool Count has no part "colour"`, 1},
	} {
		t.Setenv("HAFT_TOOL_PART", c.part)
		var out, errs bytes.Buffer
		code := tool.Serve(t.Context(), counter(), strings.NewReader(c.input), &out, &errs)
		if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.errs) || c.errs == "" && errs.Len() > 0 {
			t.Errorf("%s %s: code %d, %q, %q", c.part, c.input, code, &out, &errs)
		}
	}
}

// A model is told to call a tool by its name, or through the door if there is one.
func TestHintsSayHowToCall(t *testing.T) {
	door := named(tool.DoorName)
	for want, o := range map[string]*tool.SetOptions{"Its input must match ": nil, `Call it as ` + tool.DoorName + ` {"tool": "Count", `: {Door: &door}} {
		hidden := counter()
		hidden.Deferred = true
		s := tool.NewSet(nil, []tool.Tool{named(tool.SearchName)}, []tool.Tool{hidden}, o)
		if got := s.Hint(&hidden); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An input is decoded for whoever asks first, and each input by itself.
func TestAnInputIsDecodedForAll(t *testing.T) {
	own := counter()
	c := (&tool.Call{Tool: "Count"}).WithInput([]byte(`{"n":0}`))
	for range 2 {
		if m := own.MarksOf(c); !m.ReadOnly {
			t.Errorf("marks %+v", m)
		}
	}
	if p := own.Validate(t.Context(), c.WithInput([]byte(`{"n":-1}`))); p == nil || p.Code != 7 {
		t.Errorf("another input: %+v", p)
	}
}

// Facts are what the functions of a tool say of a call, and nothing where it has none.
func TestFactsAreWhatTheToolSays(t *testing.T) {
	type in struct {
		Command string `json:"command"`
		URL     string `json:"url"`
	}
	own := tool.New(tool.Def[in, string]{
		Name: "Own", Description: "x", Run: func(context.Context, *tool.Call, in) (string, error) { return "", nil },
		Command: func(in *in) *string { return &in.Command }, Address: func(in in) string { return in.URL }, Classify: func(in) string { return "does something" },
	})
	c := (&tool.Call{Tool: "Own"}).WithInput([]byte(`{"command":"ls","url":"https://a"}`))
	if f := own.FactsOf(c); f.Command != "ls" || f.Address != "https://a" || f.Classifier != "does something" {
		t.Errorf("facts: %+v", f)
	}
	plain := named("Plain")
	if f := plain.FactsOf((&tool.Call{Tool: "Plain"}).WithInput([]byte(`{}`))); f.Command+f.Address+f.Classifier != "" || f.Marks != (tool.Marks{}) {
		t.Errorf("of a plain tool: %+v", f)
	}
}
