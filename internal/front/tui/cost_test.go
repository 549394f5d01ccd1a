package tui

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/tui/style"
)

// still is an app without a loop: a test makes things happen and draws.
func still(t *testing.T, size Size) *app {
	a := newApp(t.Context(), &Options{Out: io.Discard, Size: size, Palette: style.Of(style.Dark)})
	a.talk = newFakeTalk().shown()
	a.status = status{mode: "default", model: "m"}
	return a
}

func (a *app) tell(events ...agent.Event) {
	for _, ev := range events {
		a.happened(streamed{ev: ev})
	}
}

// converse has n messages said, with a call in each.
func (a *app) converse(n int) {
	for i := range n {
		id := fmt.Sprint(i)
		a.tell(agent.TurnStarted{}, prompted("Do this and that, please, number "+id),
			delta(0, "I do **this**:\n\n```go\nfunc main() { println("+id+") }\n```\n\nand that.\n"), stop(0),
			use(id, "Bash", `{"command":"make"}`), runs(id), returned(id, "Bash", "made\nall of it"), agent.Result{Reason: agent.Completed})
		a.draw()
	}
}

// TestBytesThatAreWritten holds how much a terminal gets for a key, for a piece of an answer, and in
// a second of waiting, whatever else is on the screen.
func TestBytesThatAreWritten(t *testing.T) {
	sized(t, Size{100, 30}, func(t *testing.T, b *bed) {
		b.app.later(func() { b.app.paint = style.Of(style.Dark) })
		b.type_("x\x15") // the hint of the empty box is gone
		measure := func(what string, n, most int, f func(i int)) {
			// The app counts while the test looks.
			frames := func() frameCount {
				now := make(chan frameCount, 1)
				b.app.later(func() { now <- b.app.frames })
				return <-now
			}
			before := frames()
			for i := range n {
				f(i)
			}
			after := frames()
			each := (after.Bytes - before.Bytes) / n
			t.Logf("%d bytes %s, in %d frames", each, what, after.Count-before.Count)
			if each > most {
				t.Errorf("%d bytes %s, want at most %d", each, what, most)
			}
		}
		keys := "Please look at the parser, and write a test for what it does"
		measure("for a key", len(keys), 30, func(i int) { b.type_(keys[i : i+1]) })
		b.type_("\x15")
		b.tell(agent.TurnStarted{}, prompted("Do it"))
		answer := strings.Repeat("The parser reads a *word* at a time, and `next` returns it with the place where it begins in the file. ", 40)
		measure("for 12 characters of an answer", len(answer)/12, 60, func(i int) { b.tell(delta(0, answer[12*i:12*i+12])) })
		b.tell(stop(0), use("1", "Bash", `{"command":"make"}`), runs("1"))
		measure("in a second of waiting", 20, 200, func(int) { b.pause(time.Second) })
		b.tell(returned("1", "Bash", "made"), agent.Result{Reason: agent.Completed})
		measure("in a second without anything to do", 20, 0, func(int) { b.pause(time.Second) })
	})
}

// TestAFrameCostsWhatIsOnTheScreen compares frames of a short and of a very long
// conversation: they cost the same bytes and the same memory, and the screen keeps
// nothing of what has gone up.
func TestAFrameCostsWhatIsOnTheScreen(t *testing.T) {
	size := Size{100, 30}
	frame := func(a *app) (bytes int, allocs float64) {
		a.tell(agent.TurnStarted{}, delta(0, "A sentence that is being written"))
		a.draw()
		before := a.frames
		allocs = testing.AllocsPerRun(50, func() {
			a.tell(delta(0, " on"))
			a.draw()
		})
		n := a.frames.Count - before.Count
		bytes = (a.frames.Bytes - before.Bytes) / n
		a.tell(stop(0), agent.Result{Reason: agent.Completed})
		a.draw()
		return bytes, allocs
	}
	a := still(t, size)
	a.converse(10)
	shortBytes, shortAllocs := frame(a)
	a.converse(10_000)
	longBytes, longAllocs := frame(a)
	t.Logf("a frame: %d bytes and %.0f allocations after 10 messages, %d and %.0f after 10,010; largest frame %d bytes", shortBytes, shortAllocs, longBytes, longAllocs, a.frames.Largest)
	if longBytes > shortBytes+shortBytes/4 || longAllocs > shortAllocs*1.25 {
		t.Error("frames become more expensive with the conversation")
	}
	if most := size.Width * size.Height * 8; a.frames.Largest > most {
		t.Errorf("a frame took %d bytes, more than %d", a.frames.Largest, most)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 40<<20 {
		t.Errorf("%d MB are held after 10,000 messages", m.HeapAlloc>>20)
	}
	if len(a.show.live) != 0 || len(a.records) > maxRecords {
		t.Errorf("%d live blocks, %d records", len(a.show.live), len(a.records))
	}
}

// TestFiveThousandTokensASecond streams ten seconds' worth of Markdown at that
// pace, drawn sixty times a second, and must be done in a fraction of the time.
func TestFiveThousandTokensASecond(t *testing.T) {
	a := still(t, Size{100, 30})
	text := strings.Repeat("Some *words* about `code` and a [link](http://x).\n\n- one item that goes on for a while\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc main() { println(\"hi\") } // x\n```\n\n", 1200)
	const tokens, perFrame = 50_000, 5000 / 60
	a.tell(agent.TurnStarted{})
	begin, at := time.Now(), 0
	for i := range tokens {
		a.tell(delta(0, text[at:at+4]))
		at += 4
		if i%perFrame == 0 {
			a.draw()
		}
	}
	a.tell(stop(0))
	a.draw()
	took := time.Since(begin)
	t.Logf("10 s of streaming took %v: %d frames, %d bytes each on average, the largest %d", took, a.frames.Count, a.frames.Bytes/a.frames.Count, a.frames.Largest)
	if took > 4*time.Second {
		t.Errorf("10 s of streaming took %v: it falls behind", took)
	}
}

// TestALongParagraphDoesNotStall streams one paragraph without an end: its frames
// do not become more expensive.
func TestALongParagraphDoesNotStall(t *testing.T) {
	var early, late time.Duration
	for range 5 { // other programs on the machine slow some runs down, never all of them in the same places
		if early, late = growingParagraph(t); late <= 4*early {
			return
		}
	}
	t.Errorf("frames took %v at first and %v later", early, late)
}

// growingParagraph measures frames of a paragraph while it is short, and when it is long.
func growingParagraph(t *testing.T) (early, late time.Duration) {
	a := still(t, Size{100, 30})
	a.tell(agent.TurnStarted{})
	frames := func() time.Duration {
		begin := time.Now()
		for range 100 {
			a.tell(delta(0, strings.Repeat("word ", 66)))
			a.draw()
		}
		return time.Since(begin)
	}
	var took []time.Duration
	for range 8 {
		took = append(took, frames())
	}
	t.Logf("frames of a paragraph that grows by 33 KB each time: %v", took)
	return min(took[0], took[1], took[2]), min(took[5], took[6], took[7])
}
