//go:build unix

package page_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func quoted(text string) string {
	raw, _ := json.Marshal(text) // a string can be encoded
	return string(raw)
}

// A kind of question: the prompt and the mode in which it is asked, what is chosen before it is
// answered, and what the model says then.
type asked struct{ name, prompt, mode, choose, says string }

// Every kind of question can be read to its end and answered on small and low screens: a phone on
// its side, a window at 200 %, and above the keyboard of a phone; by pointer, by keyboard and by
// touch. Each kind is answered on each screen, and in each way.
func TestQuestionsFitSmallScreens(t *testing.T) {
	s := newSite(t, scenes)
	kinds := []asked{
		{"a long change", "long change", "default", "", "Long."},
		{"a plan", "plan it", "plan", "", "Done as planned."},
		{"choices", "ask me", "default", `.question input[value="Blue"]`, "Noted."},
		{"a form", "fill in a form", "default", ".question form input[required]", "Filled in."},
	}
	ways := []string{"pointer", "keyboard", "touch"}
	for i, size := range [][2]int{{1280, 800}, {390, 844}, {844, 390}, {680, 430}, {390, 470}} {
		for j, kind := range kinds {
			way := ways[(i+j)%len(ways)]
			t.Run(fmt.Sprintf("%s at %dx%d by %s", kind.name, size[0], size[1], way), func(t *testing.T) {
				defer func(t testing.TB) { s.t, s.browser.t = t, t }(s.t)
				s.t, s.browser.t = t, t
				for _, name := range []string{"long.txt", "planned.txt"} {
					_ = os.Remove(filepath.Join(s.dir, name)) // of the screen before
				}
				first := s.login(1280, 800)
				id := s.createIn(first, kind.prompt, kind.mode)
				if kind.name == "a form" {
					first.wait(armed)
					first.press("y") // the call that asks
					first.wait(`document.querySelector(".question:not(.settled) form")`)
				}
				first.close()
				p := s.browser.tab(size[0], size[1])
				defer p.close()
				p.do("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": way == "touch"})
				p.open(s.url + "/s/" + id)
				p.answers(kind.choose, way)
				if kind.name == "a plan" { // the change that was planned
					p.wait(`document.querySelector(".question:not(.settled) .diff")`)
					p.answers("", way)
				}
				said(p, kind.says)
				p.clean()
			})
		}
	}
}

// answers reads a question to its end, chooses, and allows it.
func (p *tab) answers(choose, way string) {
	p.b.t.Helper()
	p.wait(`(() => { const w = document.querySelector(".question:not(.settled) .what"); return w && w.clientHeight >= Math.min(60, w.scrollHeight) && w.clientHeight > 20; })()`)
	if text := false; choose != "" {
		p.activate(choose, way)
		p.eval(`document.activeElement.type === "text"`, &text)
		if text {
			p.write("Ada")
		}
	}
	p.eval(`(async () => { const w = document.querySelector(".question:not(.settled) .what"); const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r))); for (let y = 0; y < w.scrollHeight; y += w.clientHeight / 2) { w.scrollTop = y; await frame(); await frame(); } })()`, nil)
	p.wait(armed)
	p.wait(`[...document.querySelectorAll(".question:not(.settled) .buttons button")].every((b) => { b.scrollIntoView(); const r = b.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight && b.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)); })`)
	p.activate(".question:not(.settled) button.allow", way)
}

// activate presses what a selector names as a user does.
func (p *tab) activate(selector, way string) {
	p.b.t.Helper()
	if way == "keyboard" {
		p.eval(`document.querySelector(".question:not(.settled)").focus()`, nil)
		var there bool
		for n := 0; n < 40 && !there; n++ {
			p.special("Tab", 9)
			p.eval(fmt.Sprintf(`document.activeElement.matches(%q)`, selector), &there)
		}
		if !there {
			p.b.t.Fatalf("%s cannot be reached by Tab", selector)
		}
		p.press(" ")
		return
	}
	var at struct{ X, Y float64 }
	p.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, selector), &at)
	if way == "touch" {
		p.do("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []in{{"x": at.X, "y": at.Y}}})
		p.do("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []in{}})
		return
	}
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1})
	}
}
