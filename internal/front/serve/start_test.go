package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/session"
)

// submitted is a session with flags, whose prompt is answered without anyone.
func submitted(dir string, args ...string) serve.NewSession {
	return serve.NewSession{ID: "3f9a1c00-0000-4000-8000-00000000000b", Cwd: dir, Prompt: "x", UUID: "0c0ffee0-0000-4000-8000-00000000000b", Args: args, Unattended: true}
}

// answered waits until a prompt has its answer.
func (s *site) answered(id, prompt string) {
	s.t.Helper()
	until(s.t, "the answer", func() bool {
		var out serve.Outcome
		s.must("GET", "/v1/sessions/"+id+"/prompts/"+prompt, nil, &out)
		return out.State == serve.OutcomeDone
	})
}

// offered are the names of the tools of a request to a model, and its system prompt.
func offered(t *testing.T, body []byte) (tools []string, system string) {
	t.Helper()
	var r struct {
		Tools  []struct{ Name string }
		System json.RawMessage
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	for _, tool := range r.Tools {
		tools = append(tools, tool.Name)
	}
	slices.Sort(tools)
	return tools, string(r.System)
}

// What the owner of the server denies, limits or demands holds for sessions with flags, too.
func TestFlagsNarrowTheOwnersOptions(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "w.txt")
	m := servetest.Scripted(t, servetest.Writes(target, "x"), servetest.Says("Tried."), servetest.Writes(target, "x"), servetest.Says("Tried again."))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := siteOptions(t, m)
	o.Harness.Tools, o.Harness.Disallowed, o.Talk.AppendSystem, o.Talk.Limits.Turns = []string{"Read", "Write", "Glob"}, []string{"Write"}, "OWNERS RULE", 2
	s := runSite(t, l, o)
	in := submitted(dir, "--tools=Bash,Write,Read", "--allowedTools=Write", "--append-system-prompt=CLIENTS WISH", "--max-turns=50")
	s.must("POST", "/v1/sessions", in, nil)
	s.answered(in.ID, in.UUID)
	if _, err := os.Stat(target); err == nil {
		t.Error("a call that the owner denies was made")
	}
	tools, system := offered(t, m.Requests()[0].Body)
	if slices.Contains(tools, "Bash") || slices.Contains(tools, "Glob") || !slices.Contains(tools, "Read") {
		t.Errorf("the model was offered %v", tools)
	}
	if !strings.Contains(system, "OWNERS RULE") || !strings.Contains(system, "CLIENTS WISH") {
		t.Errorf("the system prompt is %s", system)
	}
	options := &haft.Options{
		Transport: haft.Remote(s.url, servetest.Token), Dir: dir, Tools: []string{"Bash", "Write", "Read"}, AllowedTools: []string{"Write"}, MaxTurns: 50,
		CanUseTool: func(context.Context, *haft.ToolRequest) (*haft.Permission, error) { return haft.Allow(), nil },
	}
	for _, err := range haft.Query(t.Context(), "x", options) {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("a call that the owner denies was made for a program")
	}
	tools, system = offered(t, m.Requests()[2].Body)
	if slices.Contains(tools, "Bash") || slices.Contains(tools, "Glob") || !slices.Contains(tools, "Read") || !strings.Contains(system, "OWNERS RULE") {
		t.Errorf("the model of a program was offered %v by %s", tools, system)
	}
	o.Harness.Agent = "Explore"
	l, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = runSite(t, l, o)
	in.ID = "3f9a1c00-0000-4000-8000-00000000000c"
	if p := s.refused("POST", "/v1/sessions", in, http.StatusBadRequest); !strings.Contains(p.Message, `"Explore"`) {
		t.Errorf("tools beside the owner's agent: %+v", p)
	}
}

// Who has the token can neither turn permissions off by flags, nor trust a folder, nor bring
// commands that run.
func TestFlagsThatLoosenAreRefused(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	s := startSite(t, servetest.Scripted(t), "127.0.0.1:0")
	for _, args := range [][]string{
		{`--settings={"permissions":{"defaultMode":"bypassPermissions"}}`}, {`--settings={"hooks":{}}`}, {"--setting-sources="}, {"--managed-settings={}"},
		{"--trust-project"}, {"--ignore-project-hooks"}, {"--ignore-bad-rules"}, {`--mcp-config={"mcpServers":{}}`}, {"--plugin-dir=" + dir},
		{`--agents={"a":{"description":"d","prompt":"p","permissionMode":"bypassPermissions"}}`}, {"--permission-prompt-tool=mcp__a__b"}, {"--preview=auto"},
		{"--permission-mode=bypassPermissions"}, {"--dangerously-skip-permissions"}, {"--allow-dangerously-skip-permissions"}, {"--i-know"},
		{"--restricted"}, {"--bare"}, {"--add-dir=elsewhere"}, {"--resume=x"}, {"--no-such-flag"},
	} {
		if p := s.refused("POST", "/v1/sessions", submitted(dir, args...), http.StatusBadRequest); p.Code != "invalid" {
			t.Errorf("%q: %+v", args, p)
		}
	}
	s.refused("GET", "/v1/sessions/"+submitted(dir).ID, nil, http.StatusNotFound)
}

// A session keeps its flags, and that no one is asked, when it is resumed by this server or the
// next one. One whose flags are not understood is not resumed.
func TestFlagsOutliveTheProcess(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "w.txt")
	m := servetest.Scripted(t, servetest.Says("One."), servetest.Writes(target, "x"), servetest.Says("Denied."), servetest.Says("Three."))
	s := startSite(t, m, "127.0.0.1:0")
	in := submitted(dir, "--tools=Read,Write")
	path := "/v1/sessions/" + in.ID
	s.must("POST", "/v1/sessions", in, nil)
	s.answered(in.ID, in.UUID)
	s.must("POST", path+"/close", nil, nil)
	second := serve.Prompt{UUID: "0c0ffee0-0000-4000-8000-00000000000d", Text: "y"}
	s.must("POST", path+"/prompts", second, nil)
	s.answered(in.ID, second.UUID)
	if _, err := os.Stat(target); err == nil {
		t.Error("a call was made that no one has allowed")
	}
	s.end()
	s = startSite(t, m, "127.0.0.1:0")
	third := serve.Prompt{UUID: "0c0ffee0-0000-4000-8000-00000000000e", Text: "z"}
	s.must("POST", path+"/prompts", third, nil)
	s.answered(in.ID, third.UUID)
	for i, r := range m.Requests() {
		if tools, _ := offered(t, r.Body); slices.Contains(tools, "Bash") || !slices.Contains(tools, "Write") {
			t.Errorf("request %d offers %v", i, tools)
		}
	}
	s.must("POST", path+"/close", nil, nil)
	journal, err := session.Open("").Find(in.ID)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, "--tools=Read") {
			_, err = fmt.Fprint(file, strings.ReplaceAll(line, "--tools=", "--newer="))
		}
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if p := s.refused("POST", path+"/prompts", serve.Prompt{Text: "w"}, http.StatusConflict); p.Code != "unknown_flags" {
		t.Errorf("flags that are not understood: %+v", p)
	}
}

// Equal requests at the same time have the same answer, also if the session cannot be begun.
func TestEqualRequestsAreOne(t *testing.T) {
	servetest.Home(t)
	s := startSite(t, servetest.Scripted(t), "127.0.0.1:0")
	for i, want := range []int{http.StatusCreated, http.StatusUnprocessableEntity} {
		for n := range 5 {
			in := submitted(s.dir, []string{"--max-turns=3", "--agent=nobody"}[i])
			in.ID, in.UUID = fmt.Sprintf("3f9a1c00-0000-4000-8000-%012d", 10*i+n), fmt.Sprintf("0c0ffee0-0000-4000-8000-%012d", 10*i+n)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					if status, raw := s.do("POST", "/v1/sessions", in); status != want {
						t.Errorf("%v: %d %s", in.Args, status, raw)
					}
				})
			}
			all.Wait()
		}
	}
}

// Who cancels a prompt that waits leaves the turn that runs alone.
func TestAPromptIsCancelledByName(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	s := startSite(t, servetest.Scripted(t, servetest.Writes(filepath.Join(dir, "a.txt"), "x"), servetest.Says("Written.")), "127.0.0.1:0")
	in := submitted(dir)
	in.Unattended = false
	path := "/v1/sessions/" + in.ID
	s.must("POST", "/v1/sessions", in, nil)
	q := s.feed(path+"/events", "").Questions(1)[0]
	second := serve.Prompt{UUID: "0c0ffee0-0000-4000-8000-00000000000d", Text: "y"}
	s.must("POST", path+"/prompts", second, nil)
	s.must("DELETE", path+"/prompts/"+second.UUID, nil, nil)
	var out serve.Outcome
	if s.must("GET", path+"/prompts/"+second.UUID, nil, &out); out.State != serve.OutcomeCancelled {
		t.Errorf("the prompt that waited is %+v", out)
	}
	if s.must("GET", path+"/prompts/"+in.UUID, nil, &out); out.State != serve.OutcomeWaiting {
		t.Errorf("the other one is %+v", out)
	}
	s.must("DELETE", path+"/prompts/"+in.UUID, nil, nil)
	s.answered(in.ID, in.UUID)
	if p := s.refused("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}, http.StatusConflict); p.Code == "" {
		t.Errorf("the question of a turn that was stopped: %+v", p)
	}
	s.refused("DELETE", path+"/prompts/0c0ffee0-0000-4000-8000-00000000000f", nil, http.StatusNotFound)
}
