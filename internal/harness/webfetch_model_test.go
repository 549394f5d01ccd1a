package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// small is a model that answers everything alike, or fails.
type small struct {
	asked *model.Request
	fails error
}

func (s *small) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	s.asked = r
	return func(yield func(model.Event, error) bool) {
		if s.fails != nil {
			yield(nil, s.fails)
			return
		}
		for _, ev := range []model.Event{
			model.Start{}, model.BlockStop{Block: model.TextOf("half of")}, model.Start{}, // it broke off
			model.BlockStop{Block: model.TextOf("It says hello.")}, model.Stop{Usage: model.Usage{Input: 100, Output: 5}},
		} {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func TestASmallModelReadsPages(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>Greeting</title><p>Hello there.")
	}))
	defer site.Close()
	for _, c := range []struct {
		name, settings string
		fails          error
		want           string
		asked          bool
	}{
		{"it answers where it is set", `"model":"haiku"`, nil, "It says hello.", true},
		{"without one the page is read", `"model":""`, nil, "Hello there.", false},
		{"if it fails the page is read", `"model":"haiku"`, errors.New("overloaded"), "Hello there.", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := planProject(t)
			t.Setenv("ANTHROPIC_SMALL_FAST_MODEL", "")
			w, err := harness.Open(&harness.Options{Dir: dir, Settings: `{"webFetch":{"allowPrivate":["127.0.0.1"],` + c.settings + `}}`, Reexec: shellrun.Supervise()})
			if err != nil {
				t.Fatal(err)
			}
			client := &small{fails: c.fails}
			talk, err := w.Talk(t.Context(), &harness.TalkOptions{Client: client, Forget: true})
			if err != nil {
				t.Fatal(err)
			}
			defer talk.Close(t.Context())
			fetch := talk.Agent.Tools().Lookup("WebFetch")
			r, err := fetch.Run(t.Context(), &tool.Call{Input: fmt.Appendf(nil, `{"url":%q,"prompt":"What does it say?"}`, site.URL)})
			if err != nil || !strings.Contains(r.Text(), c.want) {
				t.Errorf("%s, %v", r.Text(), err)
			}
			if (client.asked != nil) != c.asked {
				t.Fatalf("asked: %t", client.asked != nil)
			}
			if !c.asked {
				return
			}
			var question model.Message
			if err := json.Unmarshal(client.asked.Messages.JSON(0), &question); err != nil {
				t.Fatal(err)
			}
			if text := question.Content[0].Text; !strings.Contains(text, "Hello there.") || !strings.Contains(text, "What does it say?") {
				t.Errorf("asked %s", text)
			}
			if client.asked.Model != talk.Resolve("haiku") {
				t.Errorf("asked the model %s", client.asked.Model)
			}
			if used := talk.Agent.Usage()[client.asked.Model]; c.fails == nil && used.Output != 5 {
				t.Errorf("it is said to have cost %+v", used)
			}
		})
	}
}
