package headless

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

func TestWhoAnswersNonsenseWasNotAsked(t *testing.T) {
	for name, c := range map[string]struct {
		answer  string
		unasked bool
		reason  string
	}{
		"what is no JSON is no answer":         {"sure!", true, "the tool x that was asked gave no answer: invalid character"},
		"what decides nothing is no answer":    {`{"behavior":"perhaps"}`, true, `the tool x that was asked answered with the behavior "perhaps"`},
		"an object without a behavior neither": {`{}`, true, `the behavior ""`},
		"a denial is one":                      {`{"behavior":"deny","message":"no"}`, false, byHost},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hostAsker{
				who: "the tool x",
				call: func(_ context.Context, _ wire.Request, reply any) error {
					return json.Unmarshal([]byte(c.answer), reply)
				},
				before: func(context.Context) {}, states: func(bool) {},
			}
			made := tool.Case{Tool: &tool.Tool{Name: "Write"}, Call: &tool.Call{Input: json.RawMessage(`{}`), Tools: tool.NewSet(&tool.Session{}, nil, nil, nil)}}
			v, err := h.Ask(t.Context(), made, tool.Verdict{Suggestions: []tool.Suggestion{{Rule: "Write"}}})
			if err != nil {
				t.Fatal(err)
			}
			if v.Behavior != tool.Deny || v.Unasked != c.unasked || !strings.Contains(v.Reason, c.reason) {
				t.Errorf("got %+v", v)
			}
			if c.unasked && v.Remedy() == "" {
				t.Error("no rule is named that would help")
			}
		})
	}
}
