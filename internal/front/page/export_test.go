//go:build unix

package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/haftdev/haft/session"
)

// A file shows everything of a session without a server: conversation, timeline, changes,
// colours, images, to-dos and plots.
func TestExportShowsASession(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	parent := t
	p := openBrowser(t).tab(1280, 900)
	p.open(exported(t, sample(t, session.Open(t.TempDir()), cwd), cwd) + "#e=0")
	p.wait(`document.querySelector("#e0")`)
	for what, script := range map[string]string{
		"the title":               `document.querySelector("h1").textContent === "Fix the flaky retry test"`,
		"Markdown":                `document.querySelector(".i-text strong")?.textContent === "sleeps" && document.querySelector(".i-text td code").textContent === "Do"`,
		"code with colours":       `document.querySelector(".i-text .c-keyword")?.textContent === "type"`,
		"a link with its address": `document.querySelector(".i-text .body a").href === "https://go.dev/blog/synctest" && document.querySelector(".address").textContent.includes("https://go.dev")`,
		"to-dos":                  `document.querySelectorAll(".todos li").length === 3 && document.querySelector(".todos .in_progress")`,
		"plots":                   `document.querySelectorAll(".plot .column").length === 4`,
		"two lanes":               `[...document.querySelectorAll(".bars .agent")].map((e) => e.textContent).join() === "main,agent scout"`,
		"a bar per call":          `document.querySelectorAll(".bars .call").length === 10`,
		"that one was asked":      `document.querySelectorAll(".bars .b-asked").length === 1`,
		"that one was denied":     `document.querySelectorAll(".bars .b-denied").length === 1`,
		"that one failed":         `document.querySelectorAll(".bars .b-failed").length === 1`,
		"calls at once side by side": `(() => { const y = (i) => document.querySelector('.call[data-index="' + i + '"] rect').getAttribute("y");
			const first = [...document.querySelectorAll(".call")].slice(0, 3).map((c) => c.dataset.index); return new Set(first.map(y)).size === 3; })()`,
	} {
		t.Run(what, func(t *testing.T) {
			defer func() { p.b.t = parent }()
			p.b.t = t
			p.wait(script)
		})
	}
	go0 := func(index int, script string) {
		t.Helper()
		p.eval(fmt.Sprintf(`location.hash = "#e=%d"`, index), nil)
		p.wait(script)
	}
	edit, test, plot := itemOf(p, "Edit"), itemOf(p, "Bash"), itemOf(p, "plot")
	go0(edit, `document.activeElement.id === "e`+fmt.Sprint(edit)+`" && document.activeElement.querySelectorAll(".diff .plus").length === 2 && document.activeElement.querySelector(".diff mark").textContent === "TestRetry"`)
	go0(test, `document.activeElement.querySelector(".a-f1")?.textContent.startsWith("--- FAIL")`)
	go0(plot, `document.activeElement.querySelector("img")?.naturalWidth === 160`)
	p.clean()
}

// itemOf is the first call whose summary has a text.
func itemOf(p *tab, text string) (index int) {
	p.b.t.Helper()
	p.eval(fmt.Sprintf(`JSON.parse(document.getElementById("session").textContent).timeline.items.find((i) => i.call && (i.call.tool + i.text).includes(%q)).index`, text), &index)
	return index
}

// What is under the cursor says why a call ran, how it was held, and how long each step took.
func TestCallUnderTheCursor(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	p := openBrowser(t).tab(1280, 900)
	p.open(exported(t, sample(t, session.Open(t.TempDir()), cwd), cwd))
	p.wait(`document.querySelectorAll(".bars .call").length === 10`)
	var at struct{ X, Y float64 }
	p.eval(fmt.Sprintf(`(() => { const r = document.querySelector('.call[data-index="%d"] .target').getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`, itemOf(p, "go test -count")), &at)
	p.do("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": at.X, "y": at.Y})
	p.wait(`!document.querySelector(".tip").hidden`)
	tip := p.text(".tip")
	for _, want := range []string{"go test -count=100 ./retry", "verdictallow", "go test runs in the sandbox", "confinementproject", "ran for", "tokens out", "$0."} {
		if !strings.Contains(tip, want) {
			t.Errorf("the cursor shows %q, without %q", tip, want)
		}
	}
	// The keyboard does the same, and Enter goes to the call.
	p.eval(`document.querySelector(".bars").focus()`, nil)
	p.press("End")
	p.wait(`document.querySelector(".tip").textContent.includes("plot") && document.getElementById("announce").textContent.includes("Bash")`)
	p.press("Enter")
	p.wait(fmt.Sprintf(`document.activeElement.id === "e%d" && location.hash === "#e=%[1]d"`, itemOf(p, "plot")))
	before := p.text(".range")
	p.eval(`document.querySelector(".bars").focus()`, nil)
	for range 4 {
		p.press("+")
	}
	p.wait(fmt.Sprintf(`document.querySelector(".range").textContent !== %q`, before))
	p.press("0")
	p.wait(fmt.Sprintf(`document.querySelector(".range").textContent === %q`, before))
	p.press("f")
	p.wait(fmt.Sprintf(`location.hash === "#e=%d"`, itemOf(p, "go test -count")))
	p.clean()
}

// A replay shows the session as it was at any event.
func TestReplay(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	p := openBrowser(t).tab(1280, 900)
	p.open(exported(t, sample(t, session.Open(t.TempDir()), cwd), cwd))
	p.wait(`document.querySelectorAll(".bars .call").length === 10`)
	p.press("r")
	p.wait(`document.querySelectorAll(".item").length === 1 && !document.querySelector(".bars .call")`)
	seek := func(n int) {
		p.eval(fmt.Sprintf(`(() => { const s = document.querySelector(".replay input"); s.value = %d; s.dispatchEvent(new Event("input")); })()`, n), nil)
	}
	edit := itemOf(p, "Edit")
	seek(edit + 1) // it is asked about until the next item
	p.wait(`document.querySelectorAll(".bars .call").length === 4`)
	seek(itemOf(p, "go test -count") + 1)
	p.wait(fmt.Sprintf(`document.querySelector('.call[data-index="%d"].s-done')`, edit))
	p.eval(`document.querySelector(".replay select").value = "256"`, nil)
	p.click(".replay button")
	p.wait(`document.querySelectorAll(".bars .call").length === 10 && document.querySelector(".replay output").textContent.startsWith(document.querySelector(".replay input").max + " of")`)
	p.press("r")
	p.clean()
}
