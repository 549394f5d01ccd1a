package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/live"
	"github.com/haftdev/haft/internal/serve"
	"github.com/haftdev/haft/mcp/config"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

const (
	token    = "the-token-of-the-test-server"
	patience = 2 * time.Second
)

// A site is a server of the test, with a scripted model.
type site struct {
	t      testing.TB
	url    string
	dir    string // where sessions work
	server *serve.Server
	end    func() // ends it, and waits
}

// home gives the test a user of its own.
func home(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{"HOME": dir, "HAFT_HOME": filepath.Join(dir, ".haft"), "CLAUDE_CONFIG_DIR": filepath.Join(dir, ".claude"), "XDG_RUNTIME_DIR": "", "XDG_CACHE_HOME": filepath.Join(dir, ".cache")} {
		if t, ok := t.(interface{ Setenv(k, v string) }); ok {
			t.Setenv(name, value)
		}
	}
}

func scripted(t testing.TB, turns ...script.Turn) *script.Server {
	t.Helper()
	m, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// newSite starts a server for a user of its own.
func newSite(t testing.TB, turns ...script.Turn) *site {
	t.Helper()
	home(t)
	return startSite(t, scripted(t, turns...), "127.0.0.1:0")
}

// startSite starts a server for the user of the test.
func startSite(t testing.TB, m *script.Server, address string, servers ...config.Entry) *site {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	talk := harness.TalkOptions{Client: anthropic.New(&anthropic.Options{BaseURL: m.URL(), Key: "k"}), Model: "claude-opus-5-5", Watch: live.Open("test")}
	talk.MCP.Entries = servers
	kept, err := serve.OpenHome(filepath.Join(os.Getenv("HAFT_HOME"), "serve"), false)
	if err != nil {
		t.Fatal(err)
	}
	kept.Close() // the server of a test is one of several
	s := serve.New(&serve.Options{
		Harness: harness.Options{Preview: "off"}, Talk: talk, Token: token, Version: "test", Patience: patience, Files: os.DirFS("testdata/page"),
		Hosts: []string{"https://box.example"}, Devices: kept.Devices(),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	st := &site{t: t, url: "http://" + l.Addr().String(), dir: t.TempDir(), server: s}
	ended := false
	st.end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Error("the server does not end")
		}
	}
	t.Cleanup(st.end)
	return st
}

// do sends a request with the token, and returns the status and the body.
func (s *site) do(method, path string, body any) (int, []byte) {
	s.t.Helper()
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		in = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(method, s.url+path, in)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, raw
}

// must sends a request that must succeed, and reads its reply.
func (s *site) must(method, path string, body, reply any) {
	s.t.Helper()
	status, raw := s.do(method, path, body)
	if status/100 != 2 {
		s.t.Fatalf("%s %s: %d %s", method, path, status, raw)
	}
	if reply != nil {
		if err := json.Unmarshal(raw, reply); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, raw)
		}
	}
}

// refused sends a request that must be refused, and returns the problem.
func (s *site) refused(method, path string, body any, want int) serve.Problem {
	s.t.Helper()
	status, raw := s.do(method, path, body)
	if status != want {
		s.t.Fatalf("%s %s: %d %s, want %d", method, path, status, raw, want)
	}
	var p serve.Problem
	if err := json.Unmarshal(raw, &p); err != nil {
		s.t.Fatal(err)
	}
	return p
}

// An event is one of a stream.
type event struct{ name, id, data string }

// A feed is a stream of events.
type feed struct {
	t    testing.TB
	resp *http.Response
	in   *bufio.Reader
	last string // the id of the last event
}

func (s *site) feed(path, last string) *feed {
	s.t.Helper()
	r, err := http.NewRequest("GET", s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s", path, resp.Status)
	}
	f := &feed{t: s.t, resp: resp, in: bufio.NewReader(resp.Body)}
	s.t.Cleanup(f.close)
	return f
}

func (f *feed) close() { f.resp.Body.Close() }

// next returns the next event; an error says that the stream has ended.
func (f *feed) next() (event, error) {
	var e event
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			return e, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "event":
			e.name = value
		case "id":
			e.id, f.last = value, value
		case "data":
			e.data = value
		case "":
			if e.data != "" {
				return e, nil
			}
			e = event{}
		}
	}
}

// until reads to the event for which holds.
func (f *feed) until(what string, holds func(event) bool) event {
	f.t.Helper()
	timer := time.AfterFunc(30*time.Second, f.close)
	defer timer.Stop()
	for {
		e, err := f.next()
		if err != nil {
			f.t.Fatalf("no %s: %v", what, err)
		}
		if holds(e) {
			return e
		}
	}
}

// message reads to a message of a type.
func (f *feed) message(kind string, has string) event {
	f.t.Helper()
	return f.until(kind, func(e event) bool {
		return e.name == "" && strings.Contains(e.data, `"type":"`+kind+`"`) && strings.Contains(e.data, has)
	})
}

// questions reads until n questions are open.
func (f *feed) questions(n int) []serve.Question {
	f.t.Helper()
	var all serve.Questions
	f.until(fmt.Sprintf("%d questions", n), func(e event) bool {
		if e.name != "questions" {
			return false
		}
		all = serve.Questions{}
		if err := json.Unmarshal([]byte(e.data), &all); err != nil {
			f.t.Fatal(err)
		}
		return len(all.Questions) == n
	})
	return all.Questions
}

func says(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }

func writes(path, content string) script.Turn {
	input, _ := json.Marshal(map[string]string{"file_path": path, "content": content})
	return script.Turn{Blocks: []script.Block{{Tool: "Write", Input: input}}}
}

func (s *site) create(prompt string) serve.Session {
	s.t.Helper()
	var row serve.Session
	s.must("POST", "/v1/sessions", serve.NewSession{Cwd: s.dir, Prompt: prompt}, &row)
	return row
}

func allow() json.RawMessage { return json.RawMessage(`{"behavior":"allow"}`) }

// A session is created, asks, is answered and goes on, all through the API.
func TestCreateWatchAnswer(t *testing.T) {
	home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	s := startSite(t, scripted(t, writes(target, "hello\n"), says("It is done."), says("Again.")), "127.0.0.1:0")
	s.dir = dir
	row := s.create("write it")
	if !row.Running || !row.Led || row.Cwd != s.dir {
		t.Errorf("the new session is %+v", row)
	}
	f := s.feed("/v1/sessions/"+row.ID+"/events", "")
	q := f.questions(1)[0]
	if q.Kind != "permission" || !strings.Contains(string(q.Request), target) {
		t.Errorf("asked %+v", q)
	}
	var now serve.Session
	if s.must("GET", "/v1/sessions/"+row.ID, nil, &now); now.State != serve.Asks || now.Asking != 1 {
		t.Errorf("while it asks, it is %+v", now)
	}
	if p := s.refused("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: "of something else", Answer: allow()}, http.StatusConflict); p.Code != "changed" {
		t.Errorf("an answer to something else: %+v", p)
	}
	s.must("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: allow()}, nil)
	if p := s.refused("POST", "/v1/sessions/"+row.ID+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: allow()}, http.StatusConflict); p.Code != "answered" || p.By == "" {
		t.Errorf("the second answer: %+v", p)
	}
	f.message("result", "It is done.")
	if raw, err := os.ReadFile(target); err != nil || string(raw) != "hello\n" {
		t.Errorf("the file has %q, %v", raw, err)
	}
	s.must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{UUID: "0c0ffee0-0000-4000-8000-000000000000", Text: "again"}, nil)
	f.message("result", "Again.")
	var again serve.Prompted
	s.must("POST", "/v1/sessions/"+row.ID+"/prompts", serve.Prompt{UUID: "0c0ffee0-0000-4000-8000-000000000000", Text: "again"}, &again)
	if !again.Duplicate {
		t.Error("a prompt that was sent twice counts twice")
	}
	var list serve.Sessions
	if s.must("GET", "/v1/sessions", nil, &list); len(list.Sessions) != 1 || list.Sessions[0].State != serve.Done || list.Sessions[0].Turns != 2 {
		t.Errorf("the list is %+v", list)
	}
}

// until waits until something holds.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
	}
}

func promptOf(text string) agent.Prompt {
	return agent.Prompt{Content: []model.Block{model.TextOf(text)}}
}
