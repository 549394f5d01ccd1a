package serve_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/wire"
)

// What looks like a secret is shown nowhere but in open questions: not in prompts, answers,
// results, files, diffs, rows of the list, refusals and other events. The call itself runs
// with it.
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
		var all serve.Questions
		if e.Name != "questions" {
			said.WriteString(e.Data)
		}
		if e.Name != "questions" || json.Unmarshal([]byte(e.Data), &all) != nil || len(all.Questions) == 0 {
			return false
		}
		q = all.Questions[0]
		return true
	})
	if !strings.Contains(string(q.Request), "API_KEY="+key) {
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

// A question is shown as it is, to every client: a command cannot hide behind what looks
// like a secret, a rule comes back as it was suggested, and an answer as it was offered.
func TestQuestionsAreShownWhole(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	const command, named = "API_TOKEN=abcdef123456;{touch,proof}", "touch ghp_abcdefghijklmnopqrst"
	run, _ := json.Marshal(map[string]string{"command": command})
	more, _ := json.Marshal(map[string]string{"command": named})
	const offered = "PASSWORD=hunter22"
	choose := json.RawMessage(`{"questions":[{"question":"Which?","header":"Which","multiSelect":false,"options":[{"label":"` + offered + `","description":"one"},{"label":"other","description":"two"}]}]}`)
	s := startSite(t, servetest.Scripted(t, script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: run}}}, script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: more}}}, script.Turn{Blocks: []script.Block{{Tool: "AskUserQuestion", Input: choose}}}, servetest.Says("Over.")), "127.0.0.1:0")
	s.dir = dir
	path := "/v1/sessions/" + s.create("run it").ID
	f := s.feed(path+"/events", "")
	q := f.Questions(1)[0]
	var open serve.Questions
	s.must("GET", path+"/questions", nil, &open)
	a := s.attach(strings.TrimPrefix(path, "/v1/sessions/"), "end")
	attached, ok := a.question().request.(*wire.CanUseTool)
	if !ok || len(open.Questions) != 1 {
		t.Fatalf("the terminal is asked %+v, and others %+v", attached, open)
	}
	for name, raw := range map[string]json.RawMessage{"event": q.Request, "reply": open.Questions[0].Request, "terminal": attached.Input} {
		if !strings.Contains(string(raw), command) {
			t.Errorf("the %s asks %s", name, raw)
		}
	}
	s.must("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}, nil)
	q = f.OtherQuestion(q)
	var asked wire.CanUseTool
	if err := json.Unmarshal(q.Request, &asked); err != nil || len(asked.PermissionSuggestions) == 0 || len(asked.PermissionSuggestions[0].Rules) == 0 || strings.Contains(asked.PermissionSuggestions[0].Rules[0].RuleContent, "***") {
		t.Fatalf("asked %s, %v", q.Request, err)
	}
	answer := func(rules ...wire.PermissionRule) serve.Answer {
		raw, _ := json.Marshal(wire.PermissionAnswer{Behavior: wire.BehaviorAllow, UpdatedPermissions: []wire.PermissionUpdate{{Type: "addRules", Behavior: "allow", Destination: "session", Rules: rules}}})
		return serve.Answer{Question: q.ID, Digest: q.Digest, Answer: raw}
	}
	if p := s.refused("POST", path+"/answers", answer(wire.PermissionRule{ToolName: "Bash", RuleContent: "API_TOKEN=***"}), http.StatusForbidden); p.Code != "not_suggested" {
		t.Errorf("a rule with a hidden part: %+v", p)
	}
	s.must("POST", path+"/answers", answer(asked.PermissionSuggestions[0].Rules...), nil)
	q = f.OtherQuestion(q)
	if q.Kind != "question" || !strings.Contains(string(q.Request), `"label":"`+offered+`"`) {
		t.Errorf("asked %s", q.Request)
	}
	if _, err := os.Stat(filepath.Join(dir, "proof")); err != nil {
		t.Errorf("the command has not run: %v", err)
	}
}
