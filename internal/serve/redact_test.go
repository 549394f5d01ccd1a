package serve_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/serve"
	"github.com/haftdev/haft/internal/serve/servetest"
	"github.com/haftdev/haft/model/script"
)

// What looks like a secret is shown nowhere: not in prompts, answers, questions, results,
// files, diffs, rows of the list, refusals and events. The call itself runs with it.
func TestSecretsAreNotShown(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	const key = "sk-ant-api03-abcdefghijklmnopqrst"
	target := filepath.Join(dir, "conf.txt")
	read, _ := json.Marshal(map[string]string{"file_path": target})
	s := startSite(t, servetest.Scripted(t, servetest.Writes(target, "API_KEY="+key+"\n"), script.Turn{Blocks: []script.Block{{Tool: "Read", Input: read}}}, servetest.Says("It is "+key+".")), "127.0.0.1:0")
	s.dir = dir
	row := s.create("remember " + key)
	path := "/v1/sessions/" + row.ID
	f := s.feed(path+"/events?timeline=", "")
	var said strings.Builder
	var q serve.Question
	f.Until("the question", func(e servetest.Event) bool {
		said.WriteString(e.Data)
		var all serve.Questions
		if e.Name != "questions" || json.Unmarshal([]byte(e.Data), &all) != nil || len(all.Questions) == 0 {
			return false
		}
		q = all.Questions[0]
		return true
	})
	if !strings.Contains(string(q.Request), "API_KEY=***") {
		t.Errorf("asked %s", q.Request)
	}
	s.must("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}, nil)
	f.Until("the result", func(e servetest.Event) bool {
		said.WriteString(e.Data)
		var m struct{ Type, Result string }
		return json.Unmarshal([]byte(e.Data), &m) == nil && m.Type == "result" && m.Result == "It is ***."
	})
	for _, what := range []string{"/v1/sessions", path, path + "/timeline", path + "/items/0", path + "/items/1", path + "/items/2", path + "/diff", path + "/checkpoints", path + "/file?path=" + target} {
		status, raw := s.do("GET", what, nil)
		if status != http.StatusOK || !json.Valid(raw) {
			t.Errorf("%s: %d %s", what, status, raw)
		}
		said.Write(raw)
	}
	_, raw := s.do("POST", path+"/prompts", serve.Prompt{UUID: key, Text: "x"})
	said.Write(raw)
	if strings.Contains(said.String(), key) {
		at := strings.Index(said.String(), key)
		t.Errorf("a secret was shown: …%s", said.String()[max(0, at-200):at+20])
	}
	if strings.Count(said.String(), "***") < 8 {
		t.Errorf("too little was said: %s", said.String())
	}
	if raw, err := os.ReadFile(target); err != nil || string(raw) != "API_KEY="+key+"\n" {
		t.Errorf("the file has %q, %v", raw, err)
	}
}
