//go:build unix

package page_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// Nothing that the page shows has a fault that axe-core finds, in light and in dark, on a phone
// and on a screen.
func TestAccessible(t *testing.T) {
	needtest.Peers(t)
	axe, err := os.ReadFile(filepath.Join(needtest.NPM(t, "axe-core@4.11.1"), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, lookScenes)
	made := sample(t, s.store, s.dir)
	made.Close()
	p := s.login(1280, 900)
	id := s.create(p, "approve me")
	p.wait(armed)
	plan := s.createIn(p, "plan it", "plan")
	p.wait(armed)
	form := s.create(p, "fill in a form")
	p.wait(armed)
	p.press("y")
	p.wait(`document.querySelector(".question form")`)
	changes := s.createIn(p, "two changes", "acceptEdits")
	said(p, "Both written.")
	task := s.create(p, "in the background")
	said(p, "It runs.")
	choose := s.create(p, "ask me")
	p.wait(`document.querySelector(".question fieldset")`)
	failed := s.create(p, "fail now")
	p.wait(`document.querySelector("header .chip").textContent === "failed"`)
	const pairing = `document.querySelector(".qr") || document.querySelector(".entry") && !document.querySelector("dialog") && [...document.querySelectorAll("header button")].find((b) => b.textContent === "Pair a phone").click()`
	const changed = `document.querySelector("dialog .diff") || !document.querySelector("dialog") && document.querySelector(".side .files") && document.querySelector(".side .files + button").click()`
	for _, look := range []struct {
		name, path, ready string
		width             int
		dark              bool
	}{
		{"choice, dark", "/s/" + choose, `document.querySelector(".question fieldset")`, 390, true},
		{"failed", "/s/" + failed, `document.querySelector(".i-error")`, 820, false},
		{"replay, dark", "/s/" + made.ID(), `document.querySelector(".replay")?.offsetParent || document.querySelector(".bars .call") && [...document.querySelectorAll("header button")].find((b) => b.textContent === "Replay").click()`, 820, true},
		{"offline", "/", `document.querySelector(".entry") && document.querySelector(".sessions").classList.add("offline") === undefined && document.querySelector(".lost").offsetParent`, 820, false},
		{"pairing", "/", pairing, 1280, false},
		{"pairing on a phone, dark", "/", pairing, 390, true},
		{"a new session", "/", `document.querySelector(".entry") && (document.querySelector(".create").open = true)`, 390, false},
		{"plan, dark", "/s/" + plan, armed, 390, true},
		{"form", "/s/" + form, armed, 390, false},
		{"form, dark", "/s/" + form, armed, 1280, true},
		{"all changes", "/s/" + changes, changed, 1280, false},
		{"all changes, dark", "/s/" + changes, changed, 1280, true},
		{"task", "/s/" + task, `document.querySelector(".tasks")`, 1280, true},
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
