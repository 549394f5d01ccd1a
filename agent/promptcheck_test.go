package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/session"
)

// A prompt that no API takes is refused at the door by the name of its block, and the
// conversation stays one that can be sent.
func TestPromptsThatNoAPITakes(t *testing.T) {
	for _, c := range []struct{ name, block, want string }{
		{"a result that nobody waits for", `{"type":"tool_result","tool_use_id":"toolu_9","content":"x"}`, `block 1 of the prompt is a result for call "toolu_9"`},
		{"a bitmap", `{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AAAA"}}`, `image/bmp`},
		{"an image without data", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}`, `the image is empty`},
		{"an unknown member", `{"type":"text","text":"hi","colour":"red"}`, `text blocks have no member "colour"`},
		{"an unknown type", `{"type":"video","source":{}}`, `cannot contain blocks of type "video"`},
		{"a thought", `{"type":"thinking","thinking":"hm","signature":"x"}`, `cannot contain blocks of type "thinking"`},
		{"a text with a cache mark", `{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}`, ``},
		{"a picture that is elsewhere", `{"type":"image","source":{"type":"url","url":"https://example.com/x.png"}}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv, err := scripttest.Serve(t, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			var b model.Block
			if err := json.Unmarshal([]byte(c.block), &b); err != nil {
				t.Fatal(err)
			}
			a := start(t, &agent.Options{Model: anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "none"}), ModelName: "claude-opus-5-5"})
			a.Send(agent.Prompt{Content: []model.Block{b}})
			res := result(t, run(t, a))
			if c.want == "" {
				if res.Reason != agent.Completed {
					t.Errorf("%+v", res)
				}
				return
			}
			if res.Reason != agent.APIError || !strings.Contains(res.Text, c.want) || srv.Total() != 0 {
				t.Errorf("%s %q after %d requests", res.Reason, res.Text, srv.Total())
			}
			if res := result(t, run(t, a, "hi")); res.Reason != agent.Completed {
				t.Errorf("the next prompt: %+v", res)
			}
		})
	}
}

// Media that no API takes as they are reach it as it wants them, also when a session is
// resumed.
func TestMediaThatNoAPITakes(t *testing.T) {
	png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	pages := strings.Repeat("/Type /Page \n", 150)
	returned := func(content string, failed bool) string {
		return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":%v,"content":[%s]}]}`, failed, content)
	}
	image := func(kind, data string) string {
		return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":%q,"data":%q}}`, kind, data)
	}
	pdf := func(data string) string {
		raw, err := json.Marshal([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":%s}}`, raw)
	}
	for _, c := range []struct{ name, message, want, model string }{
		{"an image in a failed result", returned(image("image/png", png), true), png, "claude-opus-5-5"},
		{"an image under another name", returned(image("image/jpeg", png), false), `"media_type":"image/png"`, "claude-opus-5-5"},
		{"what is no image", returned(image("image/png", "AAAA"), false), "An image was left out", "claude-opus-5-5"},
		{"what is no PDF", returned(pdf("hello"), false), "its content is not a PDF", "claude-opus-5-5"},
		{"a PDF that has too many pages for the model", returned(pdf("%PDF-1.4\n"+pages), false), "A PDF of 150 pages was left out", "claude-haiku-4-5"},
		{"the same for a model that takes them", returned(pdf("%PDF-1.4\n"+pages), false), "application/pdf", "claude-opus-5-5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv, err := scripttest.Serve(t, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			h := historyOf(t, c.message)
			o := &agent.Options{
				Model: anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "none"}), ModelName: c.model, History: h,
				Context: agent.Context{Media: func(name string) int { return map[string]int{"claude-haiku-4-5": 100, "claude-opus-5-5": 600}[name] }},
			}
			if res := result(t, run(t, start(t, o), "go")); res.Reason != agent.Completed {
				t.Fatalf("%+v", res)
			}
			if body := string(srv.Requests()[0].Body); !strings.Contains(body, c.want) {
				t.Errorf("sent %s, want %s in it", body, c.want)
			}
		})
	}
}

// historyOf is a conversation with a call whose result is the given message.
func historyOf(t *testing.T, message string) *model.History {
	t.Helper()
	var h model.History
	h.AppendJSON([]byte(`{"role":"user","content":[{"type":"text","text":"go"}]}`))
	h.AppendJSON([]byte(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Look","input":{}}]}`))
	h.AppendJSON([]byte(message))
	return &h
}

// Of more images than a request may have the oldest are left out.
func TestTheOldestImagesAreLeftOut(t *testing.T) {
	png := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}`
	srv, err := scripttest.Serve(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	h := historyOf(t, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[`+strings.TrimSuffix(strings.Repeat(png+",", 101), ",")+`]}]}`)
	o := &agent.Options{Model: anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "none"}), ModelName: "claude-haiku-4-5", History: h}
	a := start(t, o)
	for range 2 {
		if res := result(t, run(t, a, "go")); res.Reason != agent.Completed {
			t.Fatalf("%+v", res)
		}
	}
	for i, r := range srv.Requests() {
		if n := strings.Count(string(r.Body), `"type":"image"`); n != 75 || !strings.Contains(string(r.Body), "This image was left out to make room for newer ones") {
			t.Errorf("request %d has %d images", i, n)
		}
	}
}

// A noting journal knows the states that were noted.
type noting struct {
	*session.Session
	states map[string]json.RawMessage
}

func (n *noting) Append(ctx context.Context, entries ...session.Entry) error {
	for _, e := range entries {
		if e.State != nil {
			n.states[e.State.Name] = e.State.Value
		}
	}
	return n.Session.Append(ctx, entries...)
}

// What an API has refused once is left out when the session is resumed, too.
func TestRefusedMediaStayOut(t *testing.T) {
	message := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}]}`
	f := &fake{t: t, answers: []reply{{err: &model.Error{Kind: model.InvalidRequest, Status: 400, Message: "Could not process image"}}, says(text("Done."))}}
	o := world(f)
	o.History = historyOf(t, message)
	j := &noting{Session: session.Memory(""), states: map[string]json.RawMessage{}}
	o.Journal = j
	if res := result(t, run(t, start(t, o), "go")); res.Text != "Done." {
		t.Fatalf("%+v", res)
	}
	refused := map[string]string{}
	if err := json.Unmarshal(j.states[agent.StateRefused], &refused); err != nil || len(refused) != 1 {
		t.Fatalf("noted %s, %v", j.states[agent.StateRefused], err)
	}
	f = &fake{t: t, answers: []reply{says(text("Done."))}}
	o = world(f)
	o.History, o.Refused = historyOf(t, message), refused
	result(t, run(t, start(t, o), "go"))
	if raw := f.requests[0].raw; strings.Contains(raw, `"image"`) || !strings.Contains(raw, "the model's API rejected it: Could not process image") {
		t.Errorf("sent %s", raw)
	}
}
