package servetest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/model/script"
)

// Token is that of every server of a test.
const Token = "the-token-of-the-test-server"

// A Site is a server of a test.
type Site struct {
	T   testing.TB
	URL string
	// Token is that of the server; "" means [Token].
	Token string
	// Dir is where sessions work.
	Dir string
	// End ends the server, and waits.
	End func()
}

// Home gives the test a user of its own.
func Home(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{"HOME": dir, "HAFT_HOME": filepath.Join(dir, ".haft"), "CLAUDE_CONFIG_DIR": filepath.Join(dir, ".claude"), "XDG_RUNTIME_DIR": "", "XDG_CACHE_HOME": filepath.Join(dir, ".cache")} {
		if t, ok := t.(interface{ Setenv(k, v string) }); ok {
			t.Setenv(name, value)
		}
	}
}

// Scripted is a model that answers in turns.
func Scripted(t testing.TB, turns ...script.Turn) *script.Server {
	t.Helper()
	m, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// Do sends a request with the token, and returns the status and the body.
func (s *Site) Do(method, path string, body any) (int, []byte) {
	s.T.Helper()
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			s.T.Fatal(err)
		}
		in = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(method, s.URL+path, in)
	if err != nil {
		s.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+cmp.Or(s.Token, Token))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.T.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	return resp.StatusCode, raw
}

// Must sends a request that must succeed, and reads its reply.
func (s *Site) Must(method, path string, body, reply any) {
	s.T.Helper()
	status, raw := s.Do(method, path, body)
	if status/100 != 2 {
		s.T.Fatalf("%s %s: %d %s", method, path, status, raw)
	}
	if reply != nil {
		if err := json.Unmarshal(raw, reply); err != nil {
			s.T.Fatalf("%s %s: %v in %s", method, path, err, raw)
		}
	}
}

// Refused sends a request that must be refused, and returns the problem.
func (s *Site) Refused(method, path string, body any, want int) serve.Problem {
	s.T.Helper()
	status, raw := s.Do(method, path, body)
	if status != want {
		s.T.Fatalf("%s %s: %d %s, want %d", method, path, status, raw, want)
	}
	var p serve.Problem
	if err := json.Unmarshal(raw, &p); err != nil {
		s.T.Fatal(err)
	}
	return p
}

// An Event is one of a stream.
type Event struct{ Name, ID, Data string }

// A Feed is a stream of events.
type Feed struct {
	t    testing.TB
	resp *http.Response
	in   *bufio.Reader
	last string // the id of the last event
}

// Feed opens a stream of events, after one of them if last names it.
func (s *Site) Feed(path, last string) *Feed {
	s.T.Helper()
	r, err := http.NewRequest("GET", s.URL+path, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+cmp.Or(s.Token, Token))
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.T.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		s.T.Fatalf("%s: %s", path, resp.Status)
	}
	f := &Feed{t: s.T, resp: resp, in: bufio.NewReader(resp.Body)}
	s.T.Cleanup(f.Close)
	return f
}

// Close ends it.
func (f *Feed) Close() { f.resp.Body.Close() }

// next returns the next event; an error says that the stream has ended.
func (f *Feed) next() (Event, error) {
	var e Event
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			return e, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "event":
			e.Name = value
		case "id":
			e.ID, f.last = value, value
		case "data":
			e.Data = value
		case "":
			if e.Data != "" {
				return e, nil
			}
			e = Event{}
		}
	}
}

// Until reads to the event for which holds.
func (f *Feed) Until(what string, holds func(Event) bool) Event {
	f.t.Helper()
	timer := time.AfterFunc(30*time.Second, f.Close)
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

// Message reads to a message of a type.
func (f *Feed) Message(kind string, has string) Event {
	f.t.Helper()
	return f.Until(kind, func(e Event) bool {
		return e.Name == "" && strings.Contains(e.Data, `"type":"`+kind+`"`) && strings.Contains(e.Data, has)
	})
}

// Questions reads until n questions are open.
func (f *Feed) Questions(n int) []serve.Question {
	f.t.Helper()
	var all serve.Questions
	f.Until(fmt.Sprintf("%d questions", n), func(e Event) bool {
		if e.Name != "questions" {
			return false
		}
		all = serve.Questions{}
		if err := json.Unmarshal([]byte(e.Data), &all); err != nil {
			f.t.Fatal(err)
		}
		return len(all.Questions) == n
	})
	return all.Questions
}

// OtherQuestion reads until another question is open.
func (f *Feed) OtherQuestion(than serve.Question) serve.Question {
	f.t.Helper()
	for {
		if q := f.Questions(1)[0]; q.ID != than.ID {
			return q
		}
	}
}

// Says is a turn of the model that ends with a text.
func Says(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }

// Writes is a turn of the model that writes a file.
func Writes(path, content string) script.Turn {
	input, _ := json.Marshal(map[string]string{"file_path": path, "content": content})
	return script.Turn{Blocks: []script.Block{{Tool: "Write", Input: input}}}
}

// Create begins a session.
func (s *Site) Create(prompt string) serve.Session {
	s.T.Helper()
	var row serve.Session
	s.Must("POST", "/v1/sessions", serve.NewSession{Cwd: s.Dir, Prompt: prompt}, &row)
	return row
}

// ids are the positions of all events of a session's journal.
func (s *Site) ids(id string) (list []string) {
	s.T.Helper()
	f := s.Feed("/v1/sessions/"+id+"/events", "")
	defer f.Close()
	for {
		e := f.Until("the last text", func(e Event) bool { return e.ID != "" })
		if list = append(list, e.ID); strings.Contains(e.Data, "The last word.") {
			return list
		}
	}
}

// Allow is an answer.
func Allow() json.RawMessage { return json.RawMessage(`{"behavior":"allow"}`) }
