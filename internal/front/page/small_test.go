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

// A question can be read to its end and answered on small and low screens: a phone on its side, a
// window at 200 %, and above the keyboard of a phone.
func TestQuestionsFitSmallScreens(t *testing.T) {
	s := newSite(t, scenes)
	for _, size := range [][2]int{{1280, 800}, {390, 844}, {844, 390}, {680, 430}, {390, 470}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			defer func(t testing.TB) { s.t, s.browser.t = t, t }(s.t)
			s.t, s.browser.t = t, t
			_ = os.Remove(filepath.Join(s.dir, "long.txt")) // of the size before
			first := s.login(1280, 800)
			id := s.create(first, "long change")
			first.close()
			p := s.browser.tab(size[0], size[1])
			defer p.close()
			p.open(s.url + "/s/" + id)
			p.wait(`document.querySelector(".question .what")?.clientHeight >= 60`)
			p.eval(`(async () => { const w = document.querySelector(".what"); const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r))); for (let y = 0; y < w.scrollHeight; y += w.clientHeight / 2) { w.scrollTop = y; await frame(); await frame(); } })()`, nil)
			p.wait(armed)
			p.wait(`[...document.querySelectorAll(".question button")].every((b) => { b.scrollIntoView(); const r = b.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight && b.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)); })`)
			p.click(".question button.allow")
			said(p, "Long.")
			p.clean()
		})
	}
}
