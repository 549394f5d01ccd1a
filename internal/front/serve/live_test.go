//go:build unix

package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/config"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

func TestMain(m *testing.M) {
	if os.Getenv("SERVE_TEST_SERVER") != "" {
		serveQuestions()
		return
	}
	if what := os.Getenv("SERVE_TEST_VIEWERS"); what != "" {
		watchAll(what)
		return
	}
	os.Exit(m.Run())
}

// serveQuestions is an MCP server with a tool that asks the user.
func serveQuestions() {
	server := sdk.NewServer(&sdk.Implementation{Name: "asker", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "ask", Description: "Asks the user.", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if answer, ok := r.Params.InputResponses["colour"].(*sdk.ElicitResult); ok {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%s %v", answer.Action, answer.Content["colour"])}}}, nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"colour": &sdk.ElicitParams{Message: "Which colour?", RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"colour": map[string]any{"type": "string", "enum": []string{"red", "blue"}}}, "required": []string{"colour"},
		}}}}, nil
	})
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// asker is that server as settings would have it.
func asker(t *testing.T) []config.Entry {
	t.Helper()
	command, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(map[string]any{"type": "stdio", "command": command, "args": []string{}, "env": map[string]string{"SERVE_TEST_SERVER": "1"}})
	return []config.Entry{{Name: "asker", Raw: raw, Scope: "dynamic", Origin: "the test"}}
}

// terminal runs a session as a terminal of the same user would; its user answers by
// answers, or not at all.
func terminal(t *testing.T, m *script.Server, dir string, answers <-chan tool.Verdict, servers []config.Entry) *harness.Conversation {
	t.Helper()
	w, err := harness.Open(&harness.Options{Dir: dir, Preview: "off"})
	if err != nil {
		t.Fatal(err)
	}
	person := sched.AskerFunc(func(ctx context.Context, _ tool.Case, _ tool.Verdict) (tool.Verdict, error) {
		select {
		case v := <-answers:
			return v, nil
		case <-ctx.Done():
			return tool.Verdict{}, ctx.Err()
		}
	})
	o := &harness.TalkOptions{
		Client: anthropic.New(&anthropic.Options{BaseURL: m.URL(), Key: "k"}), Model: "claude-opus-5-5", Person: person, Interactive: true, Watch: live.Open("test"),
	}
	o.MCP.Entries, o.MCP.Wait = servers, 30*time.Second
	o.MCP.Elicit = func(ctx context.Context, _ mcp.Elicitation) (mcp.Answer, error) {
		<-ctx.Done()
		return mcp.Answer{}, ctx.Err()
	}
	talk, err := w.Talk(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	release := talk.Agent.Hold()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range talk.Run(t.Context()) {
		}
	}()
	t.Cleanup(func() {
		release()
		<-done
		if err := talk.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return talk
}

// A session of a terminal is watched, prompted, answered and interrupted through the
// server, which never writes to it.
func TestSessionsOfTerminals(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	m := servetest.Scripted(t, servetest.Writes(target, "one"), servetest.Says("Written."), servetest.Writes(target+"2", "two"), servetest.Says("Not written."), servetest.Says("Prompted."))
	answers := make(chan tool.Verdict)
	talk := terminal(t, m, dir, answers, nil)
	say := func(text string) { talk.Send(promptOf(text)) }
	say("write")
	id := talk.Agent.Session()
	s := startSite(t, m, "127.0.0.1:0")
	path := "/v1/sessions/" + id
	until(t, "the journal", func() bool { status, _ := s.do("GET", path, nil); return status == http.StatusOK })
	f := s.feed(path+"/events", "")
	q := f.Questions(1)[0]
	var row serve.Session
	if s.must("GET", path, nil, &row); row.Led || !row.Running || row.State != serve.Asks || row.PID != os.Getpid() {
		t.Errorf("the session of the terminal is %+v", row)
	}
	var list serve.Sessions
	if s.must("GET", "/v1/sessions", nil, &list); len(list.Sessions) != 1 || list.Sessions[0].State != serve.Asks {
		t.Errorf("the list has %+v", list)
	}
	s.must("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}, nil)
	f.Message("result", "Written.")
	var view serve.Timeline
	s.must("GET", path+"/timeline", nil, &view)
	if n := slices.IndexFunc(view.Items, func(i *timeline.Item) bool { return i.Call != nil }); n < 0 || view.Items[n].Call.By != "a program that uses haft serve" {
		t.Errorf("the journal of the terminal does not say who answered: %+v", view.Items)
	}
	say("write again")
	q = f.OtherQuestion(q)
	answers <- tool.Verdict{Behavior: tool.Deny, Reason: "the test denies it"}
	p := s.refused("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}, http.StatusConflict)
	if p.Code != "answered" || p.By != "the terminal" || p.Behavior != "deny" {
		t.Errorf("an answer after the terminal's: %+v", p)
	}
	f.Message("result", "Not written.")
	s.must("POST", path+"/prompts", serve.Prompt{Text: "a prompt from elsewhere"}, nil)
	f.Message("user", "a prompt from elsewhere")
	f.Message("result", "Prompted.")
	for _, c := range []struct{ method, path string }{{"DELETE", path}, {"POST", path + "/close"}} {
		if p := s.refused(c.method, c.path, nil, http.StatusConflict); p.Code != "in_use" || p.PID != os.Getpid() {
			t.Errorf("%s: %+v", c.path, p)
		}
	}
	if s.must("GET", path, nil, &row); row.Led {
		t.Error("the server has taken the session over")
	}
}

// A server that is started while a question is open shows it, and it can be answered
// once; the digest is the same.
func TestAQuestionSurvivesARestart(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	m := servetest.Scripted(t, servetest.Writes(filepath.Join(dir, "a.txt"), "one"), servetest.Says("Written."))
	talk := terminal(t, m, dir, nil, nil)
	talk.Send(promptOf("write"))
	path := "/v1/sessions/" + talk.Agent.Session()
	s := startSite(t, m, "127.0.0.1:0")
	until(t, "the journal", func() bool { status, _ := s.do("GET", path, nil); return status == http.StatusOK })
	q := s.feed(path+"/events", "").Questions(1)[0]
	var at serve.QuestionPlace
	if s.must("GET", "/v1/questions/"+q.ID, nil, &at); at.Session != talk.Agent.Session() || at.Item < 0 || !at.Open {
		t.Errorf("the question is in %+v", at)
	}
	s.end()
	s = startSite(t, m, "127.0.0.1:0")
	// The card of before is answered, before the new server was asked for anything.
	s.must("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}, nil)
	s.feed(path+"/events", "").Message("assistant", "Written.")
	if p := s.refused("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}, http.StatusConflict); p.Code != "answered" {
		t.Errorf("the second answer: %+v", p)
	}
	// A third server knows it from the journal only.
	s.end()
	s = startSite(t, m, "127.0.0.1:0")
	was := at
	if s.must("GET", "/v1/questions/"+q.ID, nil, &at); at.Session != was.Session || at.Item != was.Item || at.Open {
		t.Errorf("the question was in %+v, after that in %+v", was, at)
	}
	for _, id := range []string{session.NewUUID(), "..%2F..", "type"} {
		if p := s.refused("GET", "/v1/questions/"+id, nil, http.StatusNotFound); p.Code != "no_question" {
			t.Errorf("%s: %+v", id, p)
		}
	}
}

// What an MCP server asks is answered through the server, in a session of a terminal and
// in one of its own.
func TestQuestionsOfServers(t *testing.T) {
	for _, led := range []bool{true, false} {
		t.Run(fmt.Sprintf("led %v", led), func(t *testing.T) {
			servetest.Home(t)
			dir := t.TempDir()
			m := servetest.Scripted(t, script.Turn{Blocks: []script.Block{{Tool: "mcp__asker__ask", Input: json.RawMessage(`{}`)}}}, servetest.Says("Asked."))
			s := startSite(t, m, "127.0.0.1:0", asker(t)...)
			var row serve.Session
			if led {
				s.must("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Prompt: "ask"}, &row)
			} else {
				talk := terminal(t, m, dir, nil, asker(t))
				talk.Send(promptOf("ask"))
				row.ID = talk.Agent.Session()
				until(t, "the journal", func() bool { status, _ := s.do("GET", "/v1/sessions/"+row.ID, nil); return status == http.StatusOK })
			}
			path := "/v1/sessions/" + row.ID
			f := s.feed(path+"/events", "")
			q := f.Questions(1)[0]
			s.must("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}, nil)
			if q = f.OtherQuestion(q); q.Kind != "elicitation" || !strings.Contains(string(q.Request), "Which colour?") {
				t.Fatalf("asked %+v", q)
			}
			s.refused("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}, http.StatusBadRequest)
			s.must("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: json.RawMessage(`{"action":"accept","content":{"colour":"blue"}}`)}, nil)
			f.Message("user", "accept blue")
			f.Message("result", "Asked.")
			if p := s.refused("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: json.RawMessage(`{"action":"decline"}`)}, http.StatusConflict); p.Code != "answered" {
				t.Errorf("the second answer: %+v", p)
			}
		})
	}
}

// A conversation that is cleared continues in another session, of which those who watch
// are told, and which the same process leads.
func TestAClearedConversationIsFollowed(t *testing.T) {
	s := newSite(t, servetest.Says("One."))
	row := s.create("go")
	f := s.feed("/v1/sessions/"+row.ID+"/events", "")
	f.Message("assistant", "One.")
	s.must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{Text: "/clear"}, nil)
	var reset struct {
		ID string `json:"new_conversation_id"`
	}
	if err := json.Unmarshal([]byte(f.Message("conversation_reset", "").Data), &reset); err != nil {
		t.Fatal(err)
	}
	s.must("POST", "/v1/sessions/"+reset.ID+"/prompts", serve.Prompt{Text: "again"}, nil)
	s.feed("/v1/sessions/"+reset.ID+"/events", "").Message("assistant", "One.") // the script begins again with the conversation
	var now serve.Session
	if s.must("GET", "/v1/sessions/"+reset.ID, nil, &now); !now.Led || now.Turns != 1 {
		t.Errorf("the new session is %+v", now)
	}
	if s.must("GET", "/v1/sessions/"+row.ID, nil, &now); now.Running {
		t.Errorf("the old session is %+v", now)
	}
}

// A client that does not read is cut off in time and reads on where it was.
func TestSlowClientsAreCutOff(t *testing.T) {
	s := newSite(t)
	ses := sessiontest.Create(t, session.Open(""), &session.CreateOptions{Cwd: s.dir})
	for range 40 {
		sessiontest.Add(t, ses, sessiontest.Prompt(strings.Repeat("a long line of a long prompt ", 20_000)))
	}
	sessiontest.Add(t, ses, sessiontest.Prompt("The last word."))
	sessiontest.Close(t, ses)
	path := "/v1/sessions/" + ses.ID()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, strings.TrimPrefix(s.url, "http://"), token)
	until(t, "its stream", func() bool { return s.server.Streams() == 1 })
	// It reads nothing until the server has given it up.
	began := time.Now()
	until(t, "the end of the slow client", func() bool { return s.server.Streams() == 0 })
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("a client that does not read is kept for %s", took)
	}
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	raw, _ := io.ReadAll(conn) // what was on its way
	last, prompts := "", 0     // the last word itself may be there before: in the session's row
	for line := range strings.Lines(string(raw)) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			last = strings.TrimSpace(id)
			prompts++
		}
	}
	if prompts > 40 {
		t.Fatal("the client was not slow enough to show anything")
	}
	s.feed(path+"/events", last).Message("user", "The last word.")
}

// Every prompt has an outcome: one that is sent to a terminal's session, a command, the one that
// leaves the session, and one of so many that its result is not kept.
func TestEveryPromptHasAnOutcome(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	m := servetest.Scripted(t, servetest.Says("First."), servetest.Says("Prompted."))
	talk := terminal(t, m, dir, make(chan tool.Verdict), nil)
	s := startSite(t, m, "127.0.0.1:0")
	talk.Send(promptOf("x"))
	path := "/v1/sessions/" + talk.Agent.Session()
	until(t, "the session to run", func() bool {
		var row serve.Session
		status, raw := s.do("GET", path, nil)
		return status == http.StatusOK && json.Unmarshal(raw, &row) == nil && row.PID != 0
	})
	send := func(id, uuid, text string) {
		t.Helper()
		s.must("POST", "/v1/sessions/"+id+"/prompts", serve.Prompt{UUID: uuid, Text: text}, nil)
		s.answered(id, uuid)
	}
	send(talk.Agent.Session(), "0c0ffee0-0000-4000-8000-00000000000d", "y")

	in := submitted(dir)
	s.must("POST", "/v1/sessions", in, nil)
	s.answered(in.ID, in.UUID)
	send(in.ID, "0c0ffee0-0000-4000-8000-0000000000a1", "/compact")
	send(in.ID, "0c0ffee0-0000-4000-8000-0000000000a2", "/cost")
	for i := range 201 {
		send(in.ID, fmt.Sprintf("1c0ffee0-0000-4000-8000-%012d", i), "/cost")
	}
	for _, uuid := range []string{in.UUID, "1c0ffee0-0000-4000-8000-000000000150"} {
		s.answered(in.ID, uuid)
	}
	send(in.ID, "0c0ffee0-0000-4000-8000-0000000000a3", "/clear")
}
