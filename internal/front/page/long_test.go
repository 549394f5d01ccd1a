//go:build unix

package page_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// long writes a session of about so many entries: turns of 20 calls, each judged, dispatched
// and with a result.
func long(t testing.TB, store *session.Store, cwd string, entries int) *session.Session {
	w := newWriter(t, store, cwd)
	var batch []session.Entry
	add := func(e session.Entry) {
		w.at = w.at.Add(20 * ms)
		e.Time = w.at
		batch = append(batch, e)
	}
	for n := 0; n < entries; n += 4 {
		id := fmt.Sprint("u", n)
		if n%80 == 0 {
			add(session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(fmt.Sprintf("Prompt %d: look at the next files.", n/80+1))}}})
		}
		add(session.Entry{Message: &session.Message{Role: model.Assistant, ID: fmt.Sprint("m", n), Model: "claude-sonnet-4-5", Content: []model.Block{use(id, "Read", in{"file_path": fmt.Sprintf("%s/dir/file%d.go", cwd, n)})}, Usage: model.Usage{Input: 100, Output: 50}}})
		add(session.Entry{Call: &session.Call{Step: session.Judged, ID: "c" + id, UseID: id, Behavior: tool.Allow, Reason: "reads only"}})
		add(session.Entry{Call: &session.Call{Step: session.Dispatched, ID: "c" + id, UseID: id}})
		add(session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: id, IsError: n%4000 == 0, Content: []tool.Block{{Type: tool.TextBlock, Text: strings.Repeat("a line of a file\n", n%7)}}}}}})
		if len(batch) > 4000 || n+4 >= entries {
			if err := w.s.Append(t.Context(), batch...); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
	}
	return w.s
}

// scrolls checks that a list of n items can be looked at from end to end with few nodes.
func scrolls(p *tab, n int) (slowest time.Duration) {
	p.b.t.Helper()
	p.wait(fmt.Sprintf(`document.querySelector("#e%d")`, n-1))
	// The page goes to the end of what it loads until it has measured it; who scrolls then is taken back.
	p.eval(`(async () => {
		const box = document.querySelector(".conversation"), place = () => box.scrollHeight + ":" + box.scrollTop;
		for (let same = 0, last = ""; same < 5; last = place()) {
			same = place() === last ? same + 1 : 0;
			await new Promise((r) => setTimeout(r, 100));
		}
	})()`, nil)
	for _, at := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		var r struct {
			First, Nodes int
			Took         float64
		}
		p.eval(fmt.Sprintf(`(async () => {
			const box = document.querySelector(".conversation"), start = performance.now();
			box.scrollTop = (box.scrollHeight - box.clientHeight) * %s;
			await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
			const took = performance.now() - start;
			const seen = () => [...document.querySelectorAll(".item:not(.loading)")].filter((i) => { const r = i.getBoundingClientRect(), b = box.getBoundingClientRect(); return r.bottom > b.top && r.top < b.bottom; });
			for (let k = 0; k < 1000 && (!seen().length || document.querySelector(".item.loading")); k++) await new Promise((r) => setTimeout(r, 10));
			return {First: Number(seen()[0]?.dataset.index ?? -1), Nodes: document.querySelectorAll("*").length, Took: took};
		})()`, at), &r)
		var share float64
		fmt.Sscan(at, &share)
		if got := float64(r.First) / float64(n); r.First < 0 || got < share-0.05 || got > share+0.01 {
			p.b.t.Errorf("at %s of the list, item %d of %d is first", at, r.First, n)
		}
		if r.Nodes > 6000 {
			p.b.t.Errorf("at %s of the list, the document has %d nodes", at, r.Nodes)
		}
		slowest = max(slowest, time.Duration(r.Took*float64(time.Millisecond)))
	}
	return slowest
}

// The file of a long session scrolls from end to end, and its timeline can be zoomed into.
func TestLongSessionScrolls(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	s := long(t, session.Open(t.TempDir()), cwd, 24_000)
	p := openBrowser(t).tab(1280, 900)
	p.open(exported(t, s, cwd))
	var n int
	p.eval(`JSON.parse(document.getElementById("session").textContent).timeline.total`, &n)
	slowest := scrolls(p, n)
	t.Logf("%d items, slowest frame of a jump %v", n, slowest)
	if slowest > 2*time.Second {
		t.Errorf("a jump took %v", slowest)
	}
	p.click(`button[aria-label="Show all"]`)
	p.wait(`document.querySelectorAll(".bars rect.b-done, .bars rect.b-failed").length === 300`)
	for range 8 {
		p.click(`button[aria-label="Zoom in"]`)
	}
	p.wait(`document.querySelectorAll(".bars .call").length > 0 && document.querySelectorAll(".bars .call").length < 400`)
	p.clean()
}
