package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
)

// A request that begins a session can be repeated as it was, also to the next server, and also if
// it has another name for the folder. One that asks for something else is refused with the names
// of what differs.
func TestARequestIsRepeatedAsItWas(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	m := servetest.Scripted(t, servetest.Says("One."))
	s := startSite(t, m, "127.0.0.1:0")
	in := submitted(dir+"/../"+filepath.Base(dir)+"/", "--max-turns=3", "--append-system-prompt=SECRET")
	in.Mode, in.Model, in.Title = "plan", "sonnet", "A title"
	s.must("POST", "/v1/sessions", in, nil)
	s.answered(in.ID, in.UUID)
	// What was changed since is not what it began with.
	s.must("PATCH", "/v1/sessions/"+in.ID, serve.SessionChange{Title: "Another title", Mode: "default"}, nil)
	for _, server := range []string{"the same server", "the next server"} {
		var row serve.Session
		if s.must("POST", "/v1/sessions", in, &row); row.Cwd != dir {
			t.Errorf("%s: the session is in %q", server, row.Cwd)
		}
		for want, change := range map[string]func(*serve.NewSession){
			"mode":               func(n *serve.NewSession) { n.Mode = "acceptEdits" },
			"model":              func(n *serve.NewSession) { n.Model = "" },
			"title":              func(n *serve.NewSession) { n.Title = "" },
			"unattended":         func(n *serve.NewSession) { n.Unattended = false },
			"args (--max-turns)": func(n *serve.NewSession) { n.Args = []string{"--max-turns=4", n.Args[1]} },
			"mode, args (--strict-mcp-config)": func(n *serve.NewSession) {
				n.Mode, n.Args = "default", append(slices.Clone(n.Args), "--strict-mcp-config")
			},
			"args (--append-system-prompt, --max-turns)": func(n *serve.NewSession) { n.Args = nil },
		} {
			other := in
			change(&other)
			p := s.refused("POST", "/v1/sessions", other, http.StatusConflict)
			if p.Code != "id_taken" || !strings.Contains(p.Message, "different value of "+want+", which") || strings.Contains(p.Message, "SECRET") {
				t.Errorf("%s, %s: %+v", server, want, p)
			}
		}
		other := in
		other.Cwd = filepath.Dir(dir)
		if p := s.refused("POST", "/v1/sessions", other, http.StatusConflict); p.Code != "id_taken" || !strings.Contains(p.Message, "works in "+dir) {
			t.Errorf("%s, another folder: %+v", server, p)
		}
		s.end()
		s = startSite(t, m, "127.0.0.1:0")
	}
}

// Of requests at the same time that have one id and different folders, only those for one folder
// get the session.
func TestOneIDIsOneFolder(t *testing.T) {
	servetest.Home(t)
	s := startSite(t, servetest.Scripted(t), "127.0.0.1:0")
	dirs := []string{t.TempDir(), t.TempDir()}
	for round := range 10 {
		id := fmt.Sprintf("3f9a1c00-0000-4000-8000-%012d", round)
		got := make([]string, 8)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				status, raw := s.do("POST", "/v1/sessions", serve.NewSession{ID: id, Cwd: dirs[i%2]})
				var row serve.Session
				switch {
				case status == http.StatusCreated && json.Unmarshal(raw, &row) == nil && row.Cwd == dirs[i%2]:
					got[i] = row.Cwd
				case status != http.StatusConflict:
					t.Errorf("asked for %s: %d %s", dirs[i%2], status, raw)
				}
			})
		}
		all.Wait()
		slices.Sort(got)
		if got = slices.Compact(got); len(got) != 2 || got[0] != "" {
			t.Errorf("sessions in %q", got)
		}
	}
}
