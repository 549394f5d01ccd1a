//go:build unix

package page_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/needtest"
)

// Neither the list nor a session with an open question has a fault that axe-core finds, in light
// and in dark, on a phone and on a screen.
func TestAccessible(t *testing.T) {
	needtest.Peers(t)
	axe, err := os.ReadFile(filepath.Join(needtest.NPM(t, "axe-core@4.11.1"), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, scenes)
	made := sample(t, s.store, s.dir)
	made.Close()
	p := s.login(1280, 900)
	id := s.create(p, "approve me")
	p.wait(armed)
	for _, look := range []struct {
		name, path, ready string
		width             int
		dark              bool
	}{
		{"list", "/", `document.querySelector(".entry")`, 1280, false},
		{"list on a phone, dark", "/", `document.querySelector(".entry")`, 390, true},
		{"session", "/s/" + made.ID(), `document.querySelector(".call")`, 1280, false},
		{"session, dark", "/s/" + made.ID() + "#e=1", `document.querySelector(".call")`, 1280, true},
		{"question", "/s/" + id, armed, 1280, true},
		{"question on a phone", "/s/" + id, armed, 390, false},
	} {
		q := s.browser.tab(look.width, 900)
		scheme := "light"
		if look.dark {
			scheme = "dark"
		}
		q.do("Emulation.setEmulatedMedia", map[string]any{"features": []in{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}})
		q.open(s.url + look.path)
		q.wait(look.ready)
		q.eval(string(axe)+"\n;0", nil)
		var found []struct {
			ID, Help string
			Nodes    []struct {
				Target  []any
				Summary string `json:"failureSummary"`
			}
		}
		q.eval(`axe.run(document).then((r) => r.passes.length < 15 ? [{id: "none", help: "axe looked at nothing", nodes: []}] : r.violations)`, &found)
		for _, f := range found {
			var where []string
			for _, n := range f.Nodes {
				raw, _ := json.Marshal(n.Target)
				where = append(where, string(raw)+" "+strings.ReplaceAll(n.Summary, "\n", " "))
			}
			t.Errorf("%s: %s: %s: %s", look.name, f.ID, f.Help, strings.Join(where[:min(3, len(where))], "; "))
		}
		q.clean()
		q.close()
	}
}
