//go:build unix

package page_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// Nothing is cut off at the width of a phone, a tablet and a screen. With -update the pictures
// of docs/serve.md are taken again.
func TestPictures(t *testing.T) {
	s := newSite(t, scenes)
	made := sample(t, s.store, "/home/ada/src/retry")
	for n, title := range []string{"Explain the scheduler", "Upgrade the parser to the new grammar", "Why does the build need 4 GB?"} {
		w := newWriter(t, s.store, "/home/ada/src/"+[]string{"sched", "parser", "build"}[n])
		raw, _ := json.Marshal(title)
		w.add(0, session.Entry{State: &session.State{Name: "title", Value: raw}})
		w.prompt(0, title)
		w.answer(ms, "", "end_turn", model.TextOf([]string{"The scheduler runs calls that only read at the same time, and others alone.", "All 212 tests pass with the new grammar.", "Two linkers run at once; one of them can wait."}[n]))
		w.s.Close()
	}
	made.Close()
	p := s.login(1280, 900)
	id := s.create(p, "approve me")
	p.wait(armed)
	size := 0
	for _, shot := range []struct {
		name, path, ready string
		width, height     int
	}{
		{"serve-question.webp", "/s/" + id, armed, 390, 780},
		{"serve-sessions.webp", "/", `document.querySelectorAll(".entry").length >= 5`, 820, 560},
		{"serve-session.webp", "/s/" + made.ID() + "#e=7", `document.querySelectorAll(".bars .call").length === 10 && document.querySelector(".diff")`, 1280, 860},
	} {
		q := s.browser.tab(shot.width, shot.height)
		q.do("Emulation.setEmulatedMedia", map[string]any{"features": []in{{"name": "prefers-reduced-motion", "value": "reduce"}}})
		q.open(s.url + shot.path)
		q.wait(shot.ready)
		q.wait(fmt.Sprintf(`document.documentElement.scrollWidth <= %d && [...document.querySelectorAll("header *, footer *, .question *, .timeline .tools *")].every((e) => { const r = e.getBoundingClientRect(); return !r.width || !e.checkVisibility() || r.right <= %[1]d + 1 && r.left >= -1; })`, shot.width))
		path := filepath.Join("..", "..", "..", "docs", shot.name)
		if golden.Updating() {
			if err := os.WriteFile(path, q.picture(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatalf("%v; -update writes it", err)
		}
		size += int(info.Size())
		q.clean()
		q.close()
	}
	if size > 200_000 {
		t.Errorf("the pictures have %d bytes", size)
	}
}
