package sched_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// A finder counts how often the facts of each call are found, and when: the texts of the calls
// that had run by then.
type finder struct {
	mu    sync.Mutex
	dir   string
	ran   []string
	found map[string][][]string
}

func (w *finder) tool(change func(*tool.Def[note, string])) tool.Tool {
	t := echo(func(d *tool.Def[note, string]) {
		d.Marks = func(in note) tool.Marks {
			return tool.Marks{ReadOnly: in.Text != "write", ConcurrencySafe: in.Text != "write"}
		}
		d.Paths = func(*tool.Call, note) tool.Paths { return tool.Paths{Reads: []string{"a"}} }
		d.Run = func(_ context.Context, c *tool.Call, in note) (string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ran = append(w.ran, in.Text)
			if in.Text == "write" {
				w.dir += "/sub"
			}
			return c.Dir, nil
		}
		if change != nil {
			change(d)
		}
	})
	t.Analyze = func(c *tool.Call, before *tool.Facts) any {
		w.mu.Lock()
		defer w.mu.Unlock()
		var in note
		if err := json.Unmarshal(c.Input, &in); err != nil {
			panic(err)
		}
		w.found[in.Text] = append(w.found[in.Text], slices.Clone(w.ran))
		if before != nil {
			return "after " + before.Analysis.(string)
		}
		return in.Text
	}
	return t
}

func newFinder() *finder { return &finder{dir: "/p", found: map[string][][]string{}} }

func (w *finder) options() *sched.Options {
	o := allowAll()
	o.Dir = func(string) string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.dir
	}
	return o
}

// The scheduler, the judge, the recorder, hooks and the tool itself all use the same facts.
func TestTheFactsOfACallAreFoundOnce(t *testing.T) {
	w := newFinder()
	var seen []*tool.Facts
	see := func(c *tool.Call) { seen = append(seen, c.Facts) }
	o := w.options()
	o.Judge = sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		see(c.Call)
		c.Tool.FactsOf(c.Call)
		c.Tool.MarksOf(c.Call)
		c.Tool.PathsOf(c.Call)
		return tool.Verdict{Behavior: tool.Allow}
	})
	o.Recorder = recorder(func(r sched.Record) error {
		if r.Step != sched.Finished { // which has the call as it arrived
			see(r.Call)
		}
		return nil
	})
	tl := w.tool(func(d *tool.Def[note, string]) {
		d.Validate = func(_ context.Context, c *tool.Call, _ note) *tool.Problem { see(c); return nil }
	})
	sched.New(o).Call(t.Context(), set(tl), "toolu_1", "Echo", []byte(`{"text":"read"}`))
	if n := len(w.found["read"]); n != 1 {
		t.Errorf("the facts were found %d times", n)
	}
	if len(seen) != 4 || slices.ContainsFunc(seen, func(f *tool.Facts) bool { return f == nil || f != seen[0] }) {
		t.Errorf("the call was seen with the facts %v", seen)
	}
}

func TestFactsAreFoundWhenItIsTheTurnOfACall(t *testing.T) {
	w := newFinder()
	b := sched.New(w.options()).Start(t.Context(), &sched.BatchOptions{Tools: set(w.tool(nil))})
	b.Add("1", "Echo", []byte(`{"text":"write"}`))
	b.Add("2", "Echo", []byte(`{"text":"one"}`))
	b.Add("3", "Echo", []byte(`{"text":"two"}`))
	b.End()
	var dirs []string
	for out := range b.Outcomes() {
		dirs = append(dirs, out.Result.Text())
	}
	if want := []string{"/p", "/p/sub", "/p/sub"}; !slices.Equal(dirs, want) {
		t.Errorf("the calls ran in %v, want %v", dirs, want)
	}
	for text, found := range w.found {
		if len(found) != 1 {
			t.Errorf("the facts of %s were found %d times", text, len(found))
		}
		if text != "write" && !slices.Contains(found[0], "write") {
			t.Errorf("the facts of %s were found before the call in front of it had run", text)
		}
	}
}

// A call that changes something may run beside others if it says so. What waits meanwhile is
// examined again.
func TestFactsThatMayBeOutdatedAreFoundAgain(t *testing.T) {
	w := newFinder()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		shares := w.tool(func(d *tool.Def[note, string]) {
			d.Name, d.Marks = "Shares", func(note) tool.Marks { return tool.Marks{ConcurrencySafe: true} }
			d.Run = func(context.Context, *tool.Call, note) (string, error) { <-release; return "", nil }
		})
		b := sched.New(w.options()).Start(t.Context(), &sched.BatchOptions{Tools: set(shares, w.tool(nil))})
		b.Add("1", "Shares", []byte(`{"text":"shares"}`))
		b.Add("2", "Echo", []byte(`{"text":"write"}`))
		b.End()
		synctest.Wait()
		close(release)
		for range b.Outcomes() {
		}
	})
	if n := len(w.found["write"]); n != 2 {
		t.Errorf("the facts were found %d times, want once before and once after the other call", n)
	}
}

func TestAnotherInputHasOtherFacts(t *testing.T) {
	w := newFinder()
	o := w.options()
	o.Hooks = changing{}
	var analysis any
	o.Judge = sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		analysis = c.Call.Facts.Analysis
		return tool.Verdict{Behavior: tool.Allow}
	})
	sched.New(o).Call(t.Context(), set(w.tool(nil)), "toolu_1", "Echo", []byte(`{"text":"old"}`))
	if len(w.found["old"]) != 1 || len(w.found["new"]) != 1 {
		t.Errorf("the facts were found for %v, want once for each input", w.found)
	}
	if analysis != "after old" {
		t.Errorf("the tool was not given what it knew of the earlier input: %v", analysis)
	}
}

// changing is a hook that changes inputs.
type changing struct{ sched.Hooks }

func (changing) Before(context.Context, *tool.Tool, *tool.Call) (tool.Verdict, []string) {
	return tool.Verdict{Input: []byte(`{"text":"new"}`)}, nil
}

func (changing) Effects(context.Context, tool.Case) (tool.Verdict, []string) {
	return tool.Verdict{}, nil
}

func (changing) After(context.Context, *tool.Tool, *tool.Call, tool.Result) (*tool.Result, []string) {
	return nil, nil
}
