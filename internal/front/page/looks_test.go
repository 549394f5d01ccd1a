//go:build unix

package page_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/session"
)

// A look is a state of the page that a user meets.
type look struct {
	name, address, ready string
	// last is done to the page once it is ready, and shown is when that can be seen.
	last, shown string
}

// widths are those of a phone, a tablet and a screen.
var widths = []int{390, 820, 1400}

// What a stranger meets has all its parts on the screen, in every state, at three widths, in
// light and dark: nothing is cut off at the side, and what can be clicked has a name and can be
// reached by keyboard. With HAFT_LOOKS=folder, it takes a picture of each.
func TestLooks(t *testing.T) {
	s := newSite(t, lookScenes)
	p := s.login(1280, 900)
	inspect(p, look{name: "empty"})
	for _, l := range s.looks(p) {
		q := s.browser.tab(widths[2], 900)
		q.do("Emulation.setEmulatedMedia", map[string]any{"features": []in{{"name": "prefers-reduced-motion", "value": "reduce"}}})
		q.open(l.address)
		q.wait(l.ready)
		if l.last != "" {
			q.eval(l.last, nil)
			q.wait(l.shown)
		}
		inspect(q, l)
		q.clean()
		q.close()
	}
	// Who has lost the server is told so.
	q := s.browser.tab(widths[2], 900)
	q.open(s.url + "/")
	q.wait(`document.querySelector(".entry")`)
	s.network.cut(true)
	q.wait(`document.querySelector(".offline > .lost")?.offsetParent`)
	inspect(q, look{name: "offline"})
	s.network.cut(false)
}

// inspect looks at the page as it is.
func inspect(p *tab, l look) {
	t := p.b.t
	t.Helper()
	for _, width := range widths {
		p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
		for _, scheme := range []string{"light", "dark"} {
			p.do("Emulation.setEmulatedMedia", map[string]any{"features": []in{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}})
			var faults []string
			p.eval(fmt.Sprintf(`new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
				const out = [], say = (e, what) => out.push(what + ": " + e.tagName + "." + e.className + " " + (e.textContent || "").slice(0, 40));
				if (document.documentElement.scrollWidth > %d) out.push("the page is wider than the screen: " + document.documentElement.scrollWidth);
				for (const e of document.querySelectorAll("header *, footer *, .question *, .timeline .tools *, .replay *, .entry *, .problem *, .create form *")) {
					const r = e.getBoundingClientRect();
					if (r.width && e.checkVisibility() && !e.closest(".wide, pre, .diff, svg") && (r.right > %[1]d + 1 || r.left < -1)) say(e, "outside");
				}
				for (const e of document.querySelectorAll("button, a, input, select, textarea, summary")) {
					const r = e.getBoundingClientRect();
					if (!r.width || e.type === "hidden") continue;
					if (!(e.getAttribute("aria-label") || e.textContent || e.closest("label")?.textContent || "").trim()) say(e, "without a name");
					if (e.tabIndex < 0 && !e.disabled) say(e, "not reachable by keyboard");
					if (e.scrollWidth > e.clientWidth + 2 && e.tagName === "BUTTON") say(e, "cut off");
				}
				const lost = document.querySelector(".lost");
				if (!!lost?.offsetParent !== !!lost?.closest(".offline")) say(lost, "a banner that is not true");
				done([...new Set(out)].slice(0, 8));
			})))`, width), &faults)
			for _, f := range faults {
				t.Errorf("%s at %d px, %s: %s", l.name, width, scheme, f)
			}
			if dir := os.Getenv("HAFT_LOOKS"); dir != "" {
				name := fmt.Sprintf("%s-%d-%s.png", strings.ReplaceAll(l.name, " ", "-"), width, scheme)
				var shot struct{ Data []byte }
				p.b.must(p.b.call(p.session, "Page.captureScreenshot", map[string]any{"format": "png"}, &shot))
				if err := os.WriteFile(filepath.Join(dir, name), shot.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// looks makes sessions in every state and says how to see them.
func (s *site) looks(p *tab) []look {
	s.t.Helper()
	made := sample(s.t, s.store, "/home/ada/src/retry")
	made.Close()
	file := exported(s.t, made, "/home/ada/src/retry")
	s.crowd(60)
	at := func(id string) string { return s.url + "/s/" + id }
	// Each look that waits for the user is made by its own session.
	edit := s.create(p, "change the greeting")
	p.wait(`document.querySelector(".question .diff")`)
	command := s.create(p, "long command")
	p.wait(`document.querySelector(".question")`)
	plan := s.createIn(p, "plan it", "plan")
	p.wait(`document.querySelector(".question")`)
	form := s.create(p, "fill in a form")
	p.wait(armed)
	p.press("y")
	p.wait(`document.querySelector(".question form")`)
	choose := s.create(p, "ask me")
	p.wait(`document.querySelector(".question fieldset")`)
	failed := s.create(p, "fail now")
	p.wait(`document.querySelector("header .chip").textContent === "failed"`)
	working := s.create(p, "talk for long")
	p.wait(`document.querySelector(".arriving")`)
	const call = `document.querySelector(".bars .call")`
	return []look{
		{name: "many", address: s.url + "/", ready: `document.querySelectorAll(".entry").length > 5`},
		{name: "new", address: s.url + "/", ready: `document.querySelector(".entry")`, last: `document.querySelector(".create").open = true`, shown: `document.querySelector(".create form").offsetParent`},
		{name: "working", address: at(working), ready: `document.querySelector(".arriving")?.textContent.includes("word3") && document.querySelector(".arriving .note").textContent.startsWith("You joined")`},
		{name: "edit", address: at(edit), ready: `document.querySelector(".question .diff")`},
		{name: "command", address: at(command), ready: `document.querySelector(".question pre")`},
		{name: "plan", address: at(plan), ready: armed},
		{name: "form", address: at(form), ready: `document.querySelector(".question form")`},
		{name: "choice", address: at(choose), ready: `document.querySelector(".question fieldset")`},
		{name: "failed", address: at(failed), ready: `document.querySelector("header .chip").textContent === "failed"`},
		{name: "timeline", address: at(made.ID()), ready: call},
		{name: "replay", address: at(made.ID()), ready: call, last: `[...document.querySelectorAll("header button")].find((b) => b.textContent === "Replay").click()`, shown: `document.querySelector(".replay")?.offsetParent`},
		{name: "export", address: file, ready: call},
		{name: "missing", address: at("3f9a1c00-0000-4000-8000-0000000000ff"), ready: `document.querySelector(".problem")`},
	}
}

// crowd writes sessions that have ended: done, failed and stopped.
func (s *site) crowd(n int) {
	s.t.Helper()
	tasks := []string{"Explain the scheduler", "Upgrade the parser to the new grammar and make sure that every file of the old corpus still has the same tree", "Why does the build need 4 GB?", "Fix the flaky retry test", "翻译这个错误信息", "Rename Config to Options"}
	for i := range n {
		w := newWriter(s.t, s.store, "/home/ada/src/"+[]string{"sched", "parser", "a-project-with-a-rather-long-name/and/folders/below"}[i%3])
		title, err := json.Marshal(fmt.Sprintf("%s (%d)", tasks[i%len(tasks)], i))
		if err != nil {
			s.t.Fatal(err)
		}
		if i%4 != 3 {
			w.add(0, session.Entry{State: &session.State{Name: "title", Value: title}})
		}
		w.prompt(0, tasks[i%len(tasks)])
		switch i % 5 {
		case 3: // its process ended in the middle of a turn
			w.answer(ms, "", "tool_use", use(fmt.Sprint("u", i), "Bash", in{"command": "make"}))
		case 4:
			w.add(ms, session.Entry{Message: &session.Message{Role: model.Assistant, Content: []model.Block{model.TextOf("API error: 529 overloaded. Try again.")}, Model: "<synthetic>", Error: "overloaded"}})
		default:
			w.answer(ms, "", "end_turn", model.TextOf("Two linkers run at once; one of them can wait. "+strings.Repeat("More about that. ", i%7)))
		}
		w.s.Close()
	}
}

// lookScenes are those of the looks.
func lookScenes(dir string) []script.Part {
	greeting := filepath.Join(dir, "greeting.go")
	text := "package greeting\n\n// Hello greets.\nfunc Hello(name string) string {\n\treturn \"Hello, \" + name\n}\n"
	command := "set -e\nfor f in $(git ls-files '*.go'); do\n  gofmt -l \"$f\" | tee -a /tmp/unformatted.txt\ndone\ndocker run --rm -v \"$PWD\":/src --env DATABASE_URL=postgres://localhost:5432/test --network none registry.example/tools/verify:2026.11 /src --all --report=json > report.json && jq '.problems[] | select(.severity == \"error\") | .file' report.json | sort -u"
	return append(scenes(dir),
		script.Part{When: "change the greeting", Turns: []script.Turn{
			{Blocks: []script.Block{{Text: "I will greet politely."}, calls("Write", in{"file_path": greeting, "content": text})}}, says("Done."),
		}},
		script.Part{When: "long command", Turns: []script.Turn{{Blocks: []script.Block{calls("Bash", in{"command": command, "description": "Check every file and list those with errors"})}}, says("Done.")}},
		script.Part{When: "fail now", Turns: []script.Turn{{Fault: script.Fault{Status: 400, Type: "invalid_request_error", Message: "the model does not exist"}}}},
		script.Part{When: "talk for long", Turns: []script.Turn{{Blocks: slow(4000).Blocks, Chunk: 30, Delta: 100}}},
	)
}
