package servetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/model/script"
)

// Open prepares where sessions are, with a model that answers for them, for the user of the
// test. Each call of what it returns starts a server there.
type Open func(t *testing.T, m *script.Server) func() *Site

// Run runs the cases. Those in skip do not apply, for the reason that is there.
func Run(t *testing.T, open Open, skip map[string]string) {
	for name, run := range map[string]func(*testing.T, Open){
		"CreateWatchAnswer":           createWatchAnswer,
		"EventsResumeFromAnyPosition": eventsResume,
		"OneOfManyAnswersCounts":      oneOfManyAnswers,
		"AnswersOfEveryKind":          everyAnswer,
		"TheLifeOfASession":           lifeOfASession,
		"TheListIsLive":               liveList,
		"ASubmissionCountsOnce":       submission,
		"Remote":                      remote,
	} {
		t.Run(name, func(t *testing.T) {
			if why := skip[name]; why != "" {
				t.Skip(why)
			}
			run(t, open)
		})
	}
}

// A session is created, asks, is answered and continues, all through the API.
func createWatchAnswer(t *testing.T, open Open) {
	Home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	s := open(t, Scripted(t, Writes(target, "hello\n"), Says("It is done."), Says("Again.")))()
	s.Dir = dir
	row := s.Create("write it")
	if !row.Running || !row.Led || row.Cwd != s.Dir {
		t.Errorf("the new session is %+v", row)
	}
	f := s.Feed("/v1/sessions/"+row.ID+"/events", "")
	q := f.Questions(1)[0]
	if q.Kind != "permission" || !strings.Contains(string(q.Request), target) {
		t.Errorf("asked %+v", q)
	}
	var now serve.Session
	if s.Must("GET", "/v1/sessions/"+row.ID, nil, &now); now.State != serve.Asks || now.Asking != 1 {
		t.Errorf("while it asks, it is %+v", now)
	}
	if p := s.Refused("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: "of something else", Answer: Allow()}, http.StatusConflict); p.Code != "changed" {
		t.Errorf("an answer to something else: %+v", p)
	}
	s.Must("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: Allow()}, nil)
	if p := s.Refused("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: Allow()}, http.StatusConflict); p.Code != "answered" || p.By == "" {
		t.Errorf("the second answer: %+v", p)
	}
	f.Message("result", "It is done.")
	if raw, err := os.ReadFile(target); err != nil || string(raw) != "hello\n" {
		t.Errorf("the file has %q, %v", raw, err)
	}
	s.Must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{UUID: "0c0ffee0-0000-4000-8000-000000000000", Text: "again"}, nil)
	f.Message("result", "Again.")
	var again serve.Prompted
	s.Must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{UUID: "0c0ffee0-0000-4000-8000-000000000000", Text: "again"}, &again)
	if !again.Duplicate {
		t.Error("a prompt that was sent twice counts twice")
	}
	var list serve.Sessions
	if s.Must("GET", "/v1/sessions", nil, &list); len(list.Sessions) != 1 || list.Sessions[0].State != serve.Done || list.Sessions[0].Turns != 2 {
		t.Errorf("the list is %+v", list)
	}
}

// Every event can be read again from its position: what comes after it comes once, in the
// same order, from this server and from one that is started later.
func eventsResume(t *testing.T, open Open) {
	Home(t)
	dir := t.TempDir()
	m := Scripted(t, Writes(filepath.Join(dir, "a.txt"), "a"), Says("One."), Says("The last word."))
	start := open(t, m)
	s := start()
	var row serve.Session
	s.Must("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Prompt: "go", Mode: "acceptEdits"}, &row)
	f := s.Feed("/v1/sessions/"+row.ID+"/events", "")
	f.Message("assistant", "One.")
	s.Must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{Text: "and now"}, nil)
	f.Message("result", "The last word.") // not in the journal, but this client was there
	all := s.ids(row.ID)
	s.End()
	s = start()
	for n, from := range all[:len(all)-1] {
		f := s.Feed("/v1/sessions/"+row.ID+"/events", from)
		for _, want := range all[n+1:] {
			if e := f.Until(want, func(e Event) bool { return e.ID != "" }); e.ID != want {
				t.Fatalf("after %s comes %s, want %s", from, e.ID, want)
			}
		}
		f.Close()
	}
	var now serve.Session
	if s.Must("GET", "/v1/sessions/"+row.ID, nil, &now); now.Running || now.State != serve.Done || now.Turns != 2 {
		t.Errorf("after a restart the session is %+v", now)
	}
}

// Of many answers at once one counts, and every other one is told who was first.
func oneOfManyAnswers(t *testing.T, open Open) {
	Home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	s := open(t, Scripted(t, Writes(target, "yes"), Says("Over.")))()
	var row serve.Session
	s.Must("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Prompt: "write"}, &row)
	f := s.Feed("/v1/sessions/"+row.ID+"/events", "")
	q := f.Questions(1)[0]
	var all sync.WaitGroup
	codes := make([]int, 16)
	for n := range codes {
		all.Go(func() {
			status, raw := s.Do("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: Allow()})
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
	f.Message("result", "Over.")
	var view serve.Timeline
	s.Must("GET", "/v1/sessions/"+row.ID+"/timeline", nil, &view)
	for _, i := range view.Items {
		if i.Call != nil && (i.Call.By == "" || i.Call.Verdict != "allow" || i.Call.State != timeline.Done) {
			t.Errorf("the journal has %+v", i.Call)
		}
	}
}

// A denial reaches the model with its reason, and what the agent asks is answered.
func everyAnswer(t *testing.T, open Open) {
	Home(t)
	dir := t.TempDir()
	question := json.RawMessage(`{"questions":[{"question":"Which one?","header":"Choice","options":[{"label":"Left","description":"l"},{"label":"Right","description":"r"}],"multiSelect":false}]}`)
	m := Scripted(t,
		script.Turn{Blocks: []script.Block{{Tool: "AskUserQuestion", Input: question}}},
		script.Turn{Blocks: []script.Block{{Tool: "ExitPlanMode", Input: json.RawMessage(`{"plan":"Do it."}`)}}},
		Writes(filepath.Join(dir, "a.txt"), "no"),
		Says("Over."))
	s := open(t, m)()
	var row serve.Session
	s.Must("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Prompt: "write", Mode: "plan"}, &row)
	f := s.Feed("/v1/sessions/"+row.ID+"/events", "")
	answer := func(q serve.Question, text string) {
		t.Helper()
		s.Must("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: json.RawMessage(text)}, nil)
	}
	q := f.Questions(1)[0]
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
	if q = f.OtherQuestion(q); q.Kind != "plan" {
		t.Fatalf("asked %+v", q)
	}
	answer(q, `{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"default","destination":"session"}]}`)
	q = f.OtherQuestion(q)
	if p := s.Refused("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: json.RawMessage(`{"behavior":"allow","updatedInput":{"file_path":"/etc/x","content":""}}`)}, http.StatusBadRequest); p.Code != "invalid" {
		t.Errorf("another call in place of the shown one: %+v", p)
	}
	for _, update := range []string{`{"type":"setMode","mode":"bypassPermissions","destination":"session"}`, `{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"userSettings"}`, `{"type":"addDirectories","directories":["/"],"destination":"session"}`} {
		if p := s.Refused("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: json.RawMessage(`{"behavior":"allow","updatedPermissions":[` + update + `]}`)}, http.StatusForbidden); p.Code != "terminal_only" {
			t.Errorf("%s: %+v", update, p)
		}
	}
	for _, update := range []string{`{"type":"setMode","mode":"plan","destination":"session"}`, `{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"session"}`} {
		if p := s.Refused("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: json.RawMessage(`{"behavior":"allow","updatedPermissions":[` + update + `]}`)}, http.StatusForbidden); p.Code != "not_suggested" {
			t.Errorf("%s: %+v", update, p)
		}
	}
	answer(q, `{"behavior":"deny","message":"Not this file."}`)
	f.Message("result", "Over.")
	var view serve.Timeline
	s.Must("GET", "/v1/sessions/"+row.ID+"/timeline", nil, &view)
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
	if s.Must("GET", "/v1/sessions/"+row.ID, nil, &now); now.Mode != "default" {
		t.Errorf("after the plan the mode is %q", now.Mode)
	}
}

// A turn is interrupted, the session is renamed, forked and deleted.
func lifeOfASession(t *testing.T, open Open) {
	Home(t)
	s := open(t, Scripted(t, script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: json.RawMessage(`{"command":"touch started; sleep 300","description":"Wait"}`)}}}, Says("Continued.")))()
	row := s.Create("wait")
	path := "/v1/sessions/" + row.ID
	f := s.Feed(path+"/events", "")
	q := f.Questions(1)[0]
	s.Must("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: Allow()}, nil)
	f.Message("system", `"step":"dispatched"`)
	s.Must("POST", path+"/interrupt", nil, nil)
	f.Message("result", "")
	var now serve.Session
	s.Must("PATCH", path, serve.SessionChange{Title: "A name", Mode: "plan"}, &now)
	if now.Title != "A name" || now.Mode != "plan" {
		t.Errorf("after the change it is %+v", now)
	}
	s.Must("POST", path+"/close", nil, nil)
	if s.Must("GET", path, nil, &now); now.Running {
		t.Errorf("after the end it is %+v", now)
	}
	s.Must("PATCH", path, serve.SessionChange{Title: "Another"}, &now)
	if now.Title != "Another" || now.Running {
		t.Errorf("a session that nobody leads is renamed to %+v", now)
	}
	s.Must("POST", path+"/prompts", serve.Prompt{Text: "continue"}, nil)
	f.Message("result", "Continued.")
	var fork serve.Session
	s.Must("POST", path+"/fork", serve.Fork{}, &fork)
	if fork.ID == row.ID || fork.Turns != 2 {
		t.Errorf("the fork is %+v", fork)
	}
	s.Must("DELETE", path, nil, nil)
	s.Refused("GET", path, nil, http.StatusNotFound)
	var list serve.Sessions
	if s.Must("GET", "/v1/sessions", nil, &list); len(list.Sessions) != 1 || list.Sessions[0].ID != fork.ID {
		t.Errorf("the list is %+v", list)
	}
	s.Refused("GET", "/v1/sessions/"+fork.ID[:8], nil, http.StatusNotFound)
}

// The list says what changes, over one connection with the events of a session.
func liveList(t *testing.T, open Open) {
	Home(t)
	s := open(t, Scripted(t, Says("One."), Says("Two.")))()
	f := s.Feed("/v1/events", "")
	f.Until("an empty list", func(e Event) bool { return e.Name == "sessions" && strings.Contains(e.Data, `"all":true`) })
	row := s.Create("go")
	f.Until("the new session, done", func(e Event) bool {
		return e.Name == "sessions" && strings.Contains(e.Data, row.ID) && strings.Contains(e.Data, `"state":"done"`)
	})
	both := s.Feed("/v1/events?timeline=&session="+row.ID, "")
	both.Until("the timeline", func(e Event) bool { return e.Name == "timeline" && strings.Contains(e.Data, `"reset":true`) })
	var view serve.Timeline
	s.Must("GET", "/v1/sessions/"+row.ID+"/timeline?from=-1&limit=1", nil, &view)
	if len(view.Items) != 1 || view.Items[0].Index != view.Total-1 || view.Items[0].Text != "One." {
		t.Errorf("the end of the timeline is %+v", view)
	}
	rest := s.Feed("/v1/sessions/"+row.ID+"/events?timeline="+view.Revision, "")
	s.Must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{Text: "more"}, nil)
	e := rest.Until("a change", func(e Event) bool { return e.Name == "timeline" && strings.Contains(e.Data, "Two.") })
	if strings.Contains(e.Data, "One.") || strings.Contains(e.Data, `"reset"`) {
		t.Errorf("a change has %s", e.Data)
	}
	var since serve.Timeline
	if s.Must("GET", "/v1/sessions/"+row.ID+"/timeline?since="+view.Revision, nil, &since); len(since.Items) == 0 || since.Items[0].Index != view.Total || since.Reset {
		t.Errorf("since %s: %+v", view.Revision, since)
	}
	var detail timeline.Detail
	if s.Must("GET", fmt.Sprintf("/v1/sessions/%s/items/%d", row.ID, view.Total-1), nil, &detail); detail.Text != "One." {
		t.Errorf("the last item is %+v", detail)
	}
	s.Refused("GET", "/v1/sessions/"+row.ID+"/items/99", nil, http.StatusNotFound)
	s.Must("DELETE", "/v1/sessions/"+row.ID, nil, nil)
	f.Until("the end of the session", func(e Event) bool { return strings.Contains(e.Data, `"removed":["`+row.ID) })
}

// A session that is begun and prompted under names can be begun again: it is the same one, and
// its prompt runs once. What became of the prompt can be asked at any time, and what may be
// set is a list.
func submission(t *testing.T, open Open) {
	Home(t)
	dir := t.TempDir()
	denied := filepath.Join(dir, "denied.txt")
	again := open(t, Scripted(t, Writes(denied, "x"), Says("Nobody could be asked.")))
	s := again()
	in := serve.NewSession{
		ID: "3f9a1c00-0000-4000-8000-00000000000b", Cwd: dir, Prompt: "write", UUID: "0c0ffee0-0000-4000-8000-00000000000b",
		Args: []string{"--max-turns", "5", "--disallowedTools", "WebFetch", "WebSearch"}, Unattended: true,
	}
	var rows [3]serve.Session
	for i := range rows {
		if s.Must("POST", "/v1/sessions", in, &rows[i]); rows[i].ID != in.ID || rows[i].Cwd != dir {
			t.Errorf("request %d made %+v", i, rows[i])
		}
	}
	path := "/v1/sessions/" + in.ID
	var out serve.Outcome
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if s.Must("GET", path+"/prompts/"+in.UUID, nil, &out); out.State != serve.OutcomeWaiting {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the prompt has no outcome")
		}
	}
	var result struct {
		Result  string
		Denials []any `json:"permission_denials"`
		Turns   int   `json:"num_turns"`
	}
	if err := json.Unmarshal(out.Result, &result); err != nil || out.State != serve.OutcomeDone || result.Result != "Nobody could be asked." || len(result.Denials) != 1 || result.Turns != 2 {
		t.Errorf("the outcome is %s with %s, %v", out.State, out.Result, err)
	}
	if _, err := os.Stat(denied); err == nil {
		t.Error("what nobody was asked about was done")
	}
	var now serve.Session
	if s.Must("GET", path, nil, &now); now.Turns != 1 {
		t.Errorf("a prompt that was submitted three times made %+v", now)
	}
	if p := s.Refused("GET", path+"/prompts/0c0ffee0-0000-4000-8000-00000000000c", nil, http.StatusNotFound); p.Code != "no_prompt" {
		t.Errorf("a prompt that was never sent: %+v", p)
	}
	other := in
	other.Cwd = t.TempDir()
	if p := s.Refused("POST", "/v1/sessions", other, http.StatusConflict); p.Code != "id_taken" {
		t.Errorf("the same id elsewhere: %+v", p)
	}
	s.Must("PATCH", path, serve.SessionChange{Title: "Another title"}, nil) // it did not begin so
	s = again()
	s.Must("POST", "/v1/sessions", in, nil) // what it began with is known after a restart, too
	flags, attended, none, mode := in, in, in, in
	flags.Args, attended.Unattended, none.Args, mode.Mode = []string{"--max-turns=50"}, false, nil, "plan"
	for differs, different := range map[string]serve.NewSession{"args (--disallowedTools, --max-turns)": flags, "args (--disallowedTools, --max-turns),": none, "unattended": attended, "mode": mode} {
		if p := s.Refused("POST", "/v1/sessions", different, http.StatusConflict); p.Code != "id_taken" || !strings.Contains(p.Message, "different value of "+differs) {
			t.Errorf("the same id with other flags: %+v", p)
		}
	}
	for _, args := range [][]string{{"--debug-file=x"}, {"--resume=" + in.ID}, {"--i-know"}, {"--dissallowedTools=Bash"}, {"--mcp-config=servers.json"}, {"--max-turns=many"}, {"--dangerously-skip-permissions"}, {"word"}} {
		if p := s.Refused("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Args: args}, http.StatusBadRequest); p.Code != "invalid" {
			t.Errorf("%q: %+v", args, p)
		}
	}
}

// A program of the Go SDK moves to a server by its transport alone: its permission
// callback decides, the session is the server's, and others watch it.
func remote(t *testing.T, open Open) {
	Home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	s := open(t, Scripted(t, Writes(target, "from afar"), Says("Written.")))()
	asked := ""
	opts := &haft.Options{
		Transport: haft.Remote(s.URL+"/", cmp.Or(s.Token, Token)), Dir: dir,
		CanUseTool: func(_ context.Context, r *haft.ToolRequest) (*haft.Permission, error) {
			asked = r.ToolName
			return haft.Allow(), nil
		},
	}
	text, session := "", ""
	for m, err := range haft.Query(t.Context(), "write", opts) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := m.(*haft.Result); ok {
			text, session = r.Result, r.SessionID
		}
	}
	if raw, err := os.ReadFile(target); asked != "Write" || text != "Written." || err != nil || string(raw) != "from afar" {
		t.Errorf("asked about %q, answered %q; the file has %q, %v", asked, text, raw, err)
	}
	var row serve.Session
	if s.Must("GET", "/v1/sessions/"+session, nil, &row); row.Turns != 1 {
		t.Errorf("the session on the server is %+v", row)
	}
	for what, c := range map[string]struct {
		options haft.Options
		want    string
	}{
		"a wrong token":       {haft.Options{Transport: haft.Remote(s.URL, "wrong"), Dir: dir}, "token is wrong"},
		"no folder":           {haft.Options{Transport: haft.Remote(s.URL, Token)}, "Options.Dir"},
		"a folder of nowhere": {haft.Options{Transport: haft.Remote(s.URL, Token), Dir: "/none"}, "is not a folder"},
		"no permissions":      {haft.Options{Transport: haft.Remote(s.URL, Token), Dir: dir, Mode: "bypassPermissions"}, "only be turned off in a terminal"},
		"settings":            {haft.Options{Transport: haft.Remote(s.URL, Token), Dir: dir, Settings: `{"hooks":{}}`}, "--settings cannot be used for a session on a server"},
		"plugins":             {haft.Options{Transport: haft.Remote(s.URL, Token), Dir: dir, Plugins: []string{"/p"}}, "--plugin-dir cannot be used"},
		"a server to start":   {haft.Options{Transport: haft.Remote(s.URL, Token), Dir: dir, MCPServers: map[string]haft.MCPServer{"a": haft.Stdio{Command: "sh"}}}, "except for servers that run inside the program"},
		"nobody there":        {haft.Options{Transport: haft.Remote("http://127.0.0.1:1", Token), Dir: dir}, "refused"},
	} {
		var failed error
		for _, err := range haft.Query(t.Context(), "hello", &c.options) {
			failed = errors.Join(failed, err)
		}
		if failed == nil || !strings.Contains(failed.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, failed, c.want)
		}
	}
}
