package anthropic

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/models/streamtest"
	"github.com/haftdev/haft/internal/test/strictapi"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
)

// Whatever is asked for, the API takes what is sent, for every model that is known.
func TestWhatEachModelIsAskedIsTaken(t *testing.T) {
	for _, name := range catalog.Names() {
		for _, effort := range []string{"", "minimal", "low", "medium", "high", "xhigh", "max"} {
			for _, mode := range []string{"", "adaptive", "enabled", "disabled"} {
				for _, n := range []int{0, 500, 100_000, 1_000_000} {
					req := question(t, "hi")
					req.Model, req.Effort, req.TaskBudget, req.MaxTokens = name, effort, n, n
					req.Thinking = &model.ThinkingOptions{Mode: mode, Budget: n}
					b, s, err := newBody(req, nil)
					if err != nil {
						t.Fatal(err)
					}
					var body bytes.Buffer
					if _, err := io.Copy(&body, b.Reader()); err != nil {
						t.Fatal(err)
					}
					h := http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {strings.Join(s.betas, ",")}}
					for _, v := range strictapi.Check(h, body.Bytes()) {
						if v.Refuses() {
							t.Errorf("%s, effort %q, thinking %q, %d tokens: %s", name, effort, mode, n, v)
						}
					}
				}
			}
		}
	}
}

// What is not sent as it was asked for is told.
func TestAdjustmentsAreTold(t *testing.T) {
	for _, c := range []struct {
		name string
		req  model.Request
		want string
	}{
		{"an effort that the model lacks", model.Request{Model: "claude-opus-4-6", Effort: "xhigh"}, "high is used instead of xhigh"},
		{"an effort where there is none", model.Request{Model: "claude-haiku-4-5", Effort: "low"}, "does not support effort levels"},
		{"thinking that cannot be turned off", model.Request{Model: "claude-opus-5-5", Thinking: &model.ThinkingOptions{Mode: "disabled"}}, "always thinks"},
		{"thinking turned off at a high effort", model.Request{Model: "claude-opus-5", Effort: "max", Thinking: &model.ThinkingOptions{Mode: "disabled"}}, "always thinks at effort max"},
		{"a small task budget", model.Request{Model: "claude-opus-5-5", TaskBudget: 100}, "20000 tokens, the minimum"},
		{"a long answer", model.Request{Model: "claude-haiku-4-5", MaxTokens: 100_000}, "at most 64000 output tokens"},
		{"what fits", model.Request{Model: "claude-opus-5-5", Effort: "xhigh", TaskBudget: 50_000}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, m := serve(t, says("hi"), nil)
			c.req.Messages = question(t, "hi").Messages
			events, err := streamtest.Collect(m, &c.req)
			if err != nil {
				t.Fatal(err)
			}
			if said := adjustments(events); !strings.Contains(said, c.want) || c.want == "" && said != "" {
				t.Errorf("told %q, want %q", said, c.want)
			}
		})
	}
}

func adjustments(events []model.Event) string {
	var said []string
	for _, ev := range events {
		if a, ok := ev.(model.Adjusted); ok {
			said = append(said, a.Text)
		}
	}
	return strings.Join(said, " ")
}

// Of several features only the one that a server refuses is left out.
func TestOnlyTheRefusedFeatureIsLeftOut(t *testing.T) {
	for message, gone := range map[string]string{
		"output_config.effort: Extra inputs are not permitted":                                                            `"effort"`,
		"output_config.task_budget: Extra inputs are not permitted":                                                       `"task_budget"`,
		"thinking.adaptive.block_binding: Extra inputs are not permitted":                                                 `"block_binding"`,
		"Unexpected value(s) `task-budgets-2026-03-13` for the `anthropic-beta` header. Please consult our documentation": "task-budgets-2026-03-13",
	} {
		t.Run(gone, func(t *testing.T) {
			var last string
			srv, err := script.Serve(&script.Options{Unchecked: true, Answer: func(r *script.Request) script.Turn {
				last = fmt.Sprint(r.Header.Get("Anthropic-Beta"), string(r.Body))
				if strings.Contains(last, gone) {
					return script.Turn{Fault: script.Fault{Status: 400, Message: message}}
				}
				return says("hi")(r)
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			req := question(t, "hi")
			req.Model, req.Effort, req.TaskBudget = "claude-opus-5-5", "high", 50_000
			m := New(&Options{BaseURL: srv.URL()})
			events, err := streamtest.Collect(m, req)
			if err != nil || srv.Total() != 2 {
				t.Fatalf("%v after %d requests", err, srv.Total())
			}
			for _, part := range []string{`"effort"`, `"task_budget"`, `"block_binding"`, `"adaptive"`} {
				if part != gone && !strings.Contains(last, part) {
					t.Errorf("%s went, too", part)
				}
			}
			if said := adjustments(events); !strings.Contains(said, "it is left out from now on") {
				t.Errorf("told %q", said)
			}
		})
	}
}
