package serve_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/wire"
)

// leads lets a program lead one turn over the wire, and returns its result.
func (s *site) leads(dir string, init *wire.Initialize, args ...string) *wire.Result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	link, err := haft.Remote(s.url, token).Start(ctx, &haft.Launch{Dir: dir, Args: append([]string{"--input-format=stream-json", "--output-format=stream-json"}, args...)})
	if err != nil {
		s.t.Fatal(err)
	}
	defer link.Close()
	conn, results := wire.NewConn(link, nil), make(chan *wire.Result, 10)
	go func() {
		_ = conn.Run(ctx, func(m wire.Message) {
			if r, ok := m.(*wire.Result); ok {
				results <- r
			}
		})
	}()
	if err := conn.Call(ctx, init, nil); err != nil {
		s.t.Fatal(err)
	}
	if err := conn.Send(&wire.User{Message: wire.UserMessage{Role: "user", Content: wire.Content{Text: "Go."}}}); err != nil {
		s.t.Fatal(err)
	}
	select {
	case r := <-results:
		return r
	case <-ctx.Done():
		s.t.Fatal("no result")
		return nil
	}
}

// What the owner tells every conversation reaches those that programs lead.
func TestAGuestAddsToTheOwnersPrompt(t *testing.T) {
	servetest.Home(t)
	m := servetest.Scripted(t, servetest.Says("Hi."))
	o := siteOptions(t, m)
	o.Talk.AppendSystem = "OWNERS RULE"
	s := listens(t, o)
	s.leads(s.dir, &wire.Initialize{AppendSystemPrompt: "GUESTS RULE"}, "--append-system-prompt=GUESTS FLAG")
	_, system := offered(t, m.Requests()[0].Body)
	for _, want := range []string{"OWNERS RULE", "GUESTS RULE", "GUESTS FLAG"} {
		if !strings.Contains(system, want) {
			t.Errorf("%s is lost", want)
		}
	}
}

func listens(t *testing.T, o *serve.Options) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return runSite(t, l, o)
}

// The flags that a session was submitted with hold when a program resumes it over the wire, by
// its name, by the beginning of its name, as the newest of its folder, or as a copy.
func TestSubmittedFlagsHoldOverTheWire(t *testing.T) {
	for name, args := range map[string][]string{
		"by its id":            {"--resume=ID"},
		"by a part of its id":  {"--resume=PART"},
		"as the newest":        {"--continue"},
		"as a copy":            {"--resume=ID", "--fork-session"},
		"a copy of the newest": {"--continue", "--fork-session"},
	} {
		t.Run(name, func(t *testing.T) {
			servetest.Home(t)
			dir := t.TempDir()
			target := filepath.Join(dir, "w.txt")
			m := servetest.Scripted(t, servetest.Says("One."), servetest.Writes(target, "x"), servetest.Says("Two."))
			s := listens(t, siteOptions(t, m))
			in := submitted(dir, "--disallowedTools=Write", "--tools=Read,Write")
			s.must("POST", "/v1/sessions", in, nil)
			s.answered(in.ID, in.UUID)
			s.must("POST", "/v1/sessions/"+in.ID+"/close", nil, nil)
			args = slices.Clone(args)
			args[0] = strings.NewReplacer("ID", in.ID, "PART", in.ID[:13]).Replace(args[0])
			s.leads(dir, &wire.Initialize{}, append(args, "--allowedTools=Write", "--permission-mode=acceptEdits")...)
			if _, err := os.Stat(target); err == nil {
				t.Error("the model wrote the file")
			}
			if tools, _ := offered(t, m.Requests()[1].Body); !slices.Equal(tools, []string{"Read"}) {
				t.Errorf("the model is offered %v", tools)
			}
			if body := string(m.Requests()[1].Body); !strings.Contains(body, "One.") {
				t.Error("another session was resumed")
			}
		})
	}
}

// A session that was submitted without skills has none when the server initializes it.
func TestASessionWithoutSkillsHasNone(t *testing.T) {
	servetest.Home(t)
	skill := filepath.Join(os.Getenv("HOME"), ".claude", "skills", "greet", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(skill), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(skill, []byte("---\nname: greet\ndescription: greets\n---\nTHE TEXT\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := servetest.Scripted(t, script.Turn{Blocks: []script.Block{{Tool: "Skill", Input: json.RawMessage(`{"skill":"greet"}`)}}}, servetest.Says("x"))
	s := listens(t, siteOptions(t, m))
	in := submitted(t.TempDir(), "--disable-slash-commands")
	s.must("POST", "/v1/sessions", in, nil)
	s.answered(in.ID, in.UUID)
	if strings.Contains(string(m.Requests()[1].Body), "THE TEXT") {
		t.Error("the skill was read")
	}
}
