package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/internal/serve"
	"github.com/haftdev/haft/internal/timeline"
	"github.com/haftdev/haft/model/script"
)

// ids are the positions of all events of a session's journal.
func (s *site) ids(id string) (list []string) {
	s.t.Helper()
	f := s.feed("/v1/sessions/"+id+"/events", "")
	defer f.close()
	for {
		e := f.until("the last text", func(e event) bool { return e.id != "" })
		if list = append(list, e.id); strings.Contains(e.data, "The last word.") {
			return list
		}
	}
}

// Every event can be read again from its position: what comes after it comes once, in the
// same order, from this server and from one that is started later.
func TestEventsResumeFromAnyPosition(t *testing.T) {
	home(t)
	dir := t.TempDir()
	m := scripted(t, writes(filepath.Join(dir, "a.txt"), "a"), says("One."), says("The last word."))
	s := startSite(t, m, "127.0.0.1:0")
	var row serve.Session
	s.must("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Prompt: "go", Mode: "acceptEdits"}, &row)
	f := s.feed("/v1/sessions/"+row.ID+"/events", "")
	f.message("assistant", "One.")
	s.must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{Text: "and now"}, nil)
	f.message("result", "The last word.") // not in the journal, but this client was there
	all := s.ids(row.ID)
	s.end()
	s = startSite(t, m, "127.0.0.1:0")
	for n, from := range all[:len(all)-1] {
		f := s.feed("/v1/sessions/"+row.ID+"/events", from)
		for _, want := range all[n+1:] {
			if e := f.until(want, func(e event) bool { return e.id != "" }); e.id != want {
				t.Fatalf("after %s comes %s, want %s", from, e.id, want)
			}
		}
		f.close()
	}
	var now serve.Session
	if s.must("GET", "/v1/sessions/"+row.ID, nil, &now); now.Running || now.State != serve.Done || now.Turns != 2 {
		t.Errorf("after a restart the session is %+v", now)
	}
}

// Of many answers at once one counts, and every other one is told who was first.
func TestOneOfManyAnswersCounts(t *testing.T) {
	home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	s := startSite(t, scripted(t, writes(target, "yes"), says("Over.")), "127.0.0.1:0")
	var row serve.Session
	s.must("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Prompt: "write"}, &row)
	f := s.feed("/v1/sessions/"+row.ID+"/events", "")
	q := f.questions(1)[0]
	var all sync.WaitGroup
	codes := make([]int, 16)
	for n := range codes {
		all.Go(func() {
			status, raw := s.do("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: allow()})
			if codes[n] = status; status == http.StatusConflict && !strings.Contains(string(raw), `"by":"`) {
				t.Errorf("the other answers are told %s", raw)
			}
		})
	}
	all.Wait()
	counts := map[int]int{}
	for _, c := range codes {
		counts[c]++
	}
	if counts[http.StatusNoContent] != 1 || counts[http.StatusConflict] != len(codes)-1 {
		t.Errorf("the answers got %v", counts)
	}
	f.message("result", "Over.")
	var view serve.Timeline
	s.must("GET", "/v1/sessions/"+row.ID+"/timeline", nil, &view)
	for _, i := range view.Items {
		if i.Call != nil && (i.Call.By == "" || i.Call.Verdict != "allow" || i.Call.State != timeline.Done) {
			t.Errorf("the journal has %+v", i.Call)
		}
	}
}

// A denial reaches the model with its reason, and what the agent asks is answered.
func TestAnswersOfEveryKind(t *testing.T) {
	home(t)
	dir := t.TempDir()
	question := json.RawMessage(`{"questions":[{"question":"Which one?","header":"Choice","options":[{"label":"Left","description":"l"},{"label":"Right","description":"r"}],"multiSelect":false}]}`)
	m := scripted(t,
		script.Turn{Blocks: []script.Block{{Tool: "AskUserQuestion", Input: question}}},
		script.Turn{Blocks: []script.Block{{Tool: "ExitPlanMode", Input: json.RawMessage(`{"plan":"Do it."}`)}}},
		writes(filepath.Join(dir, "a.txt"), "no"),
		says("Over."))
	s := startSite(t, m, "127.0.0.1:0")
	var row serve.Session
	s.must("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Prompt: "write", Mode: "plan"}, &row)
	f := s.feed("/v1/sessions/"+row.ID+"/events", "")
	answer := func(q serve.Question, text string) {
		t.Helper()
		s.must("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: json.RawMessage(text)}, nil)
	}
	q := f.questions(1)[0]
	if q.Kind != "question" {
		t.Fatalf("asked %+v", q)
	}
	var request struct{ Input map[string]any }
	if err := json.Unmarshal(q.Request, &request); err != nil {
		t.Fatal(err)
	}
	request.Input["answers"] = map[string]string{"Which one?": "Right"}
	raw, _ := json.Marshal(map[string]any{"behavior": "allow", "updatedInput": request.Input})
	answer(q, string(raw))
	if q = f.otherQuestion(q); q.Kind != "plan" {
		t.Fatalf("asked %+v", q)
	}
	answer(q, `{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"default","destination":"session"}]}`)
	q = f.otherQuestion(q)
	if p := s.refused("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: json.RawMessage(`{"behavior":"allow","updatedInput":{"file_path":"/etc/x","content":""}}`)}, http.StatusBadRequest); p.Code != "invalid" {
		t.Errorf("another call in place of the shown one: %+v", p)
	}
	for _, update := range []string{`{"type":"setMode","mode":"bypassPermissions","destination":"session"}`, `{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"userSettings"}`, `{"type":"addDirectories","directories":["/"],"destination":"session"}`} {
		if p := s.refused("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: json.RawMessage(`{"behavior":"allow","updatedPermissions":[` + update + `]}`)}, http.StatusForbidden); p.Code != "terminal_only" {
			t.Errorf("%s: %+v", update, p)
		}
	}
	answer(q, `{"behavior":"deny","message":"Not this file."}`)
	f.message("result", "Over.")
	var view serve.Timeline
	s.must("GET", "/v1/sessions/"+row.ID+"/timeline", nil, &view)
	var results []string
	for _, i := range view.Items {
		if i.Call != nil {
			results = append(results, string(i.Call.State)+": "+i.Call.Result)
		}
	}
	if len(results) != 3 || !strings.Contains(results[0], "Right") || !strings.HasPrefix(results[1], "done") || !strings.Contains(results[2], "Not this file.") {
		t.Errorf("the calls had the results %q", results)
	}
	var now serve.Session
	if s.must("GET", "/v1/sessions/"+row.ID, nil, &now); now.Mode != "default" {
		t.Errorf("after the plan the mode is %q", now.Mode)
	}
}

// otherQuestion reads until another question is open.
func (f *feed) otherQuestion(than serve.Question) serve.Question {
	f.t.Helper()
	for {
		if q := f.questions(1)[0]; q.ID != than.ID {
			return q
		}
	}
}

// A turn is interrupted, the session is renamed, forked and deleted.
func TestTheLifeOfASession(t *testing.T) {
	s := newSite(t, script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: json.RawMessage(`{"command":"touch started; sleep 300","description":"Wait"}`)}}}, says("Continued."))
	row := s.create("wait")
	path := "/v1/sessions/" + row.ID
	f := s.feed(path+"/events", "")
	q := f.questions(1)[0]
	s.must("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: allow()}, nil)
	f.message("system", `"step":"dispatched"`)
	s.must("POST", path+"/interrupt", nil, nil)
	f.message("result", "")
	var now serve.Session
	s.must("PATCH", path, serve.SessionChange{Title: "A name", Mode: "plan"}, &now)
	if now.Title != "A name" || now.Mode != "plan" {
		t.Errorf("after the change it is %+v", now)
	}
	s.must("POST", path+"/close", nil, nil)
	if s.must("GET", path, nil, &now); now.Running {
		t.Errorf("after the end it is %+v", now)
	}
	s.must("PATCH", path, serve.SessionChange{Title: "Another"}, &now)
	if now.Title != "Another" || now.Running {
		t.Errorf("a session that nobody leads is renamed to %+v", now)
	}
	s.must("POST", path+"/prompts", serve.Prompt{Text: "continue"}, nil)
	f.message("result", "Continued.")
	var fork serve.Session
	s.must("POST", path+"/fork", serve.Fork{}, &fork)
	if fork.ID == row.ID || fork.Turns != 2 {
		t.Errorf("the fork is %+v", fork)
	}
	s.must("DELETE", path, nil, nil)
	s.refused("GET", path, nil, http.StatusNotFound)
	var list serve.Sessions
	if s.must("GET", "/v1/sessions", nil, &list); len(list.Sessions) != 1 || list.Sessions[0].ID != fork.ID {
		t.Errorf("the list is %+v", list)
	}
	s.refused("GET", "/v1/sessions/"+fork.ID[:8], nil, http.StatusNotFound)
}

// Files are brought back, after what would be done was shown; changes of other programs
// are in the way.
func TestRewindAndDiff(t *testing.T) {
	home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(target, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read, _ := json.Marshal(map[string]string{"file_path": target})
	s := startSite(t, scripted(t, script.Turn{Blocks: []script.Block{{Tool: "Read", Input: read}}}, writes(target, "new\n"), says("Over.")), "127.0.0.1:0")
	var row serve.Session
	s.must("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Prompt: "write", Mode: "acceptEdits"}, &row)
	path := "/v1/sessions/" + row.ID
	s.feed(path+"/events", "").message("assistant", "Over.")
	var diff struct {
		Files []struct{ Hunks []struct{ Lines []string } }
	}
	if s.must("GET", path+"/diff", nil, &diff); len(diff.Files) != 1 || fmt.Sprint(diff.Files[0].Hunks[0].Lines) != "[-old +new]" {
		t.Errorf("the diff is %+v", diff)
	}
	var points serve.Checkpoints
	if s.must("GET", path+"/checkpoints", nil, &points); len(points.Checkpoints) != 2 || points.Checkpoints[1].Files[0] != target {
		t.Fatalf("the checkpoints are %+v", points)
	}
	use := points.Checkpoints[1].ID
	if s.must("GET", path+"/diff?call="+use, nil, &diff); len(diff.Files) != 1 {
		t.Errorf("the diff of the call is %+v", diff)
	}
	var file serve.FileText
	if s.must("GET", path+"/file?path=a.txt", nil, &file); file.Text != "new\n" {
		t.Errorf("the file is %+v", file)
	}
	to := points.Checkpoints[0].ID
	var done serve.Rewound
	if s.must("POST", path+"/rewind", serve.Rewind{To: to, DryRun: true}, &done); done.Done || len(done.Files) != 1 {
		t.Errorf("it would do %+v", done)
	}
	if err := os.WriteFile(target, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := s.refused("POST", path+"/rewind", serve.Rewind{To: to}, http.StatusConflict); p.Code != "conflict" || p.Paths[0] != target {
		t.Errorf("a change of another program: %+v", p)
	}
	s.must("POST", path+"/close", nil, nil)
	s.must("POST", path+"/rewind", serve.Rewind{To: to, Force: true}, &done)
	if raw, err := os.ReadFile(target); err != nil || string(raw) != "old\n" || !done.Done || done.Undo == "" {
		t.Errorf("after the rewind the file has %q, %v; %+v", raw, err, done)
	}
	s.refused("POST", path+"/rewind", serve.Rewind{To: "none"}, http.StatusNotFound)
}

// The list says what changes, over one connection with the events of a session.
func TestTheListIsLive(t *testing.T) {
	s := newSite(t, says("One."), says("Two."))
	f := s.feed("/v1/events", "")
	f.until("an empty list", func(e event) bool { return e.name == "sessions" && strings.Contains(e.data, `"all":true`) })
	row := s.create("go")
	f.until("the new session, done", func(e event) bool {
		return e.name == "sessions" && strings.Contains(e.data, row.ID) && strings.Contains(e.data, `"state":"done"`)
	})
	both := s.feed("/v1/events?timeline=&session="+row.ID, "")
	both.until("the timeline", func(e event) bool { return e.name == "timeline" && strings.Contains(e.data, `"reset":true`) })
	var view serve.Timeline
	s.must("GET", "/v1/sessions/"+row.ID+"/timeline?from=-1&limit=1", nil, &view)
	if len(view.Items) != 1 || view.Items[0].Index != view.Total-1 || view.Items[0].Text != "One." {
		t.Errorf("the end of the timeline is %+v", view)
	}
	rest := s.feed("/v1/sessions/"+row.ID+"/events?timeline="+view.Revision, "")
	s.must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{Text: "more"}, nil)
	e := rest.until("a change", func(e event) bool { return e.name == "timeline" && strings.Contains(e.data, "Two.") })
	if strings.Contains(e.data, "One.") || strings.Contains(e.data, `"reset"`) {
		t.Errorf("a change has %s", e.data)
	}
	var since serve.Timeline
	if s.must("GET", "/v1/sessions/"+row.ID+"/timeline?since="+view.Revision, nil, &since); len(since.Items) == 0 || since.Items[0].Index != view.Total || since.Reset {
		t.Errorf("since %s: %+v", view.Revision, since)
	}
	var detail timeline.Detail
	if s.must("GET", fmt.Sprintf("/v1/sessions/%s/items/%d", row.ID, view.Total-1), nil, &detail); detail.Text != "One." {
		t.Errorf("the last item is %+v", detail)
	}
	s.refused("GET", "/v1/sessions/"+row.ID+"/items/99", nil, http.StatusNotFound)
	s.must("DELETE", "/v1/sessions/"+row.ID, nil, nil)
	f.until("the end of the session", func(e event) bool { return strings.Contains(e.data, `"removed":["`+row.ID) })
}
