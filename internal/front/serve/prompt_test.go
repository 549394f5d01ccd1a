package serve_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/model/script"
)

// picture is a small PNG.
func picture(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A prompt brings images and files to the model, and the session shows the image again.
func TestPromptsWithImagesAndFiles(t *testing.T) {
	servetest.Home(t)
	m := servetest.Scripted(t, servetest.Says("Ready."), servetest.Says("Seen."))
	s := startSite(t, m, "127.0.0.1:0")
	row := s.create("begin")
	path := "/v1/sessions/" + row.ID
	s.settle(path)
	f := s.feed(path+"/events", "")
	dot := picture(t)
	s.must("POST", path+"/prompts", serve.Prompt{
		Text: "look at both", Images: []serve.PromptImage{{MediaType: "image/png", Data: dot}}, Files: []serve.PromptFile{{Name: "notes.txt", Text: "remember the milk"}},
	}, nil)
	f.Message("result", "Seen.")
	all := m.Requests()
	var body struct {
		Messages []struct {
			Role    string
			Content []struct {
				Type, Text string
				Source     struct {
					Type, Data string
					MediaType  string `json:"media_type"`
				}
			}
		}
	}
	if err := json.Unmarshal(all[len(all)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	images, files, words := 0, 0, 0
	for _, b := range body.Messages[len(body.Messages)-1].Content {
		switch {
		case b.Type == "image" && b.Source.MediaType == "image/png" && b.Source.Data == base64.StdEncoding.EncodeToString(dot):
			images++
		case b.Type == "text" && b.Text == "<file name=\"notes.txt\">\nremember the milk\n</file>":
			files++
		case b.Type == "text" && b.Text == "look at both":
			words++
		}
	}
	if images != 1 || files != 1 || words != 1 {
		t.Errorf("the model got %+v", body.Messages[len(body.Messages)-1])
	}
	var line serve.Timeline
	s.must("GET", path+"/timeline", nil, &line)
	found := false
	for _, item := range line.Items {
		_, raw := s.do("GET", path+"/items/"+itoa(item.Index), nil)
		found = found || strings.Contains(string(raw), base64.StdEncoding.EncodeToString(dot))
	}
	if !found {
		t.Error("no item of the session has the image")
	}
	for what, p := range map[string]serve.Prompt{
		"a script that says it is an image": {Text: "x", Images: []serve.PromptImage{{MediaType: "image/png", Data: []byte("<script>")}}},
		"a drawing":                         {Text: "x", Images: []serve.PromptImage{{MediaType: "image/svg+xml", Data: []byte("<svg/>")}}},
		"a large image":                     {Text: "x", Images: []serve.PromptImage{{MediaType: "image/png", Data: append(dot, make([]byte, 5<<20)...)}}},
		"a file whose name ends its tag":    {Text: "x", Files: []serve.PromptFile{{Name: "a\">\n</file>", Text: "x"}}},
		"nothing":                           {},
		"an id that is none":                {Text: "x", UUID: "../x"},
	} {
		if problem := s.refused("POST", path+"/prompts", p, http.StatusBadRequest); problem.Code != "invalid" {
			t.Errorf("%s: %+v", what, problem)
		}
	}
}

// settle waits until a session has its answer, which may be before anyone could watch it.
func (s *site) settle(path string) {
	s.t.Helper()
	until(s.t, "the answer", func() bool {
		var row serve.Session
		s.must("GET", path, nil, &row)
		return row.State == serve.Done
	})
}

func itoa(n int) string { raw, _ := json.Marshal(n); return string(raw) }

// The model of a session is changed while it runs and when nobody leads it; the next
// request goes to the new one.
func TestTheModelIsChanged(t *testing.T) {
	servetest.Home(t)
	m := servetest.Scripted(t, servetest.Says("One."), servetest.Says("Two."), servetest.Says("Three."))
	s := startSite(t, m, "127.0.0.1:0")
	path := "/v1/sessions/" + s.create("one").ID
	s.settle(path)
	f := s.feed(path+"/events", "")
	used := func() string { all := m.Requests(); return all[len(all)-1].Model }
	var row serve.Session
	s.must("PATCH", path, serve.SessionChange{Model: "claude-sonnet-4-5"}, &row)
	s.must("POST", path+"/prompts", serve.Prompt{Text: "two"}, nil)
	f.Message("result", "Two.")
	if used() != "claude-sonnet-4-5" {
		t.Errorf("after the change the model is %s", used())
	}
	s.must("POST", path+"/close", nil, nil)
	s.must("PATCH", path, serve.SessionChange{Model: "claude-haiku-4-5"}, &row)
	if !row.Running {
		t.Error("a session that nobody leads was not resumed to change its model")
	}
	s.must("POST", path+"/prompts", serve.Prompt{Text: "three"}, nil)
	f.Message("result", "Three.")
	if used() != "claude-haiku-4-5" {
		t.Errorf("after the second change the model is %s", used())
	}
	if s.must("GET", path, nil, &row); !strings.HasSuffix(row.Model, "claude-haiku-4-5") { // as the model calls itself
		t.Errorf("the row says %q", row.Model)
	}
}

// A session that was given a prompt is working at once, also before its turn has begun, and done
// when the prompt has its answer.
func TestAPromptedSessionIsWorking(t *testing.T) {
	servetest.Home(t)
	s := startSite(t, servetest.Scripted(t, script.Turn{TTFT: 300, Blocks: []script.Block{{Text: "One."}}}, script.Turn{TTFT: 300, Blocks: []script.Block{{Text: "Two."}}}), "127.0.0.1:0")
	var row serve.Session
	s.must("POST", "/v1/sessions", serve.NewSession{Cwd: s.dir, Prompt: "go"}, &row)
	if row.State != serve.Working {
		t.Errorf("a session that begins with a prompt is %s", row.State)
	}
	f := s.feed("/v1/sessions/"+row.ID+"/events", "")
	defer f.Close()
	done := func(e servetest.Event) bool { return e.Name == "session" && strings.Contains(e.Data, `"state":"done"`) }
	f.Until("the end of the first turn", done)
	s.must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{Text: "go on"}, nil)
	s.must("GET", "/v1/sessions/"+row.ID, nil, &row)
	if row.State != serve.Working {
		t.Errorf("a session that was given a prompt is %s", row.State)
	}
	f.Until("the end of the second turn", done)
}
