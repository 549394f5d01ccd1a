//go:build unix

package page_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// attacks are texts that run, load or hide something where a page takes them for markup.
var attacks = []string{
	`<img src=x onerror="window.hit=1">`, `</script><script>window.hit=1</script>`, `<!--<script>window.hit=1</script>`, `"><svg onload=window.hit=1>`,
	`[click](javascript:window.hit=1)`, `![x](https://evil.example/pixel.png)`, `<iframe srcdoc="<script>parent.hit=1</script>">`, `<style>*{display:none}</style>`,
	"\x1b]8;;javascript:window.hit=1\x07link\x1b]8;;\x07", "\x1b[2J\x1b[1;1Hfake screen", "\u202egnp.exe", "`<b onclick=window.hit=1>`", `{{constructor.constructor("window.hit=1")()}}`, "\u2028\u2029<base href=//evil.example>",
}

// inherited are names of tools that every object of a script has a member of, and none at all.
var inherited = []string{"constructor", "__proto__", "toString", ""}

// hostile writes a session in which every text is an attack.
func hostile(t testing.TB, store *session.Store, cwd string) *session.Session {
	w := newWriter(t, store, cwd)
	all := strings.Join(attacks, "\n\n")
	title, _ := json.Marshal(attacks[0] + attacks[1])
	w.add(0, session.Entry{State: &session.State{Name: "title", Value: title}})
	w.prompt(ms, all)
	for n, a := range attacks {
		id := "u" + string(rune('a'+n))
		w.answer(ms, "", "tool_use", model.Block{Type: model.Thinking, Text: a}, model.TextOf(a), model.TextOf("```"+a+"\n"+a+"\n```\n| "+a+" |\n|---|\n| "+a+" |"), use(id, a, in{"file_path": a, a: all, "command": a}))
		w.judged(ms, "", id, tool.Allow, a, tool.Confinement(a))
		w.started(ms, "", id, tool.Unsafe)
		w.add(ms, session.Entry{Checkpoint: &session.Checkpoint{CallID: "c" + id, Path: a}})
		w.returned(ms, "", id, a, n%2 == 0, in{"filePath": a, "structuredPatch": []in{{"oldStart": 1, "newStart": 1, "lines": []string{"-" + a, "+" + a + a}}}},
			tool.Block{Type: tool.ImageBlock, MediaType: "image/svg+xml", Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="window.hit=1"/>`)}, tool.Block{Type: tool.ImageBlock, MediaType: `image/png" onerror="window.hit=1`, Data: []byte("x")})
	}
	for n, name := range inherited {
		id := "n" + strconv.Itoa(n)
		w.answer(ms, "", "tool_use", use(id, name, in{}))
		w.returned(ms, "", id, "done", false, nil)
	}
	todos, _ := json.Marshal([]in{{"content": all, "status": attacks[3]}, {"content": "x", "status": inherited[0]}})
	w.add(ms, session.Entry{State: &session.State{Name: "todos", Value: todos}})
	w.answer(ms, "", "end_turn", model.TextOf(all))
	return w.s
}

// inert is true if nothing of an attack took effect.
const inert = `window.hit === undefined && document.querySelectorAll("script").length === %d && !document.querySelector("iframe, base, object, embed, form[action], [onerror], [onload], [onclick]") &&
	[...document.querySelectorAll("a[href]")].every((a) => /^(https?:|file:)/.test(a.href)) && [...document.querySelectorAll("img")].every((i) => i.src.startsWith("data:image/png"))`

// Hostile text stays text, wherever it stands in a session.
func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	p := openBrowser(t).tab(1280, 900)
	p.open(exported(t, hostile(t, session.Open(t.TempDir()), cwd), cwd))
	p.wait(`document.querySelectorAll(".item").length > 3`)
	var count int
	p.eval(`JSON.parse(document.getElementById("session").textContent).timeline.total`, &count)
	// Every item is looked at, opened, and on the timeline under the cursor.
	p.eval(`(async () => {
		for (let i = 0; i < `+strconv.Itoa(count)+`; i++) {
			location.hash = "#e=" + i;
			await new Promise((r) => setTimeout(r, 30));
			document.querySelectorAll("details").forEach((d) => (d.open = true));
		}
		for (const c of document.querySelectorAll(".call .target")) c.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: 100, clientY: 100}));
		await new Promise((r) => setTimeout(r, 50));
	})()`, nil)
	p.wait(strings.Replace(inert, "%d", "2", 1))
	p.wait(`document.querySelector("h1").textContent.includes("<img src=x onerror=")`)
	p.wait(`[...document.querySelectorAll(".i-text .body")].some((b) => b.textContent.includes("\\u{202e}")) && !document.body.innerText.includes("\u202e")`)
	for _, name := range inherited {
		p.wait(`[...document.querySelectorAll(".item b")].some((b) => b.title === "` + name + `" && b.textContent === b.title)`)
	}
	p.clean() // the policy refused nothing: there was nothing to refuse
}
