//go:build linux

package workspace

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/workspace/readstate"
)

func TestWhatAFormatterChangedIsNobodyElses(t *testing.T) {
	b := newBench(t, map[string]string{"a": lines})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	b.read("a")
	b.write("a", "ONE\n"+lines[len("one\n"):])
	hunks, err := b.Refresh(ctx, "", b.Look(b.path("a")))
	if err != nil || len(hunks) != 1 {
		t.Fatalf("%d hunks, %v", len(hunks), err)
	}
	if hunks, err := b.Refresh(ctx, "", b.Look(b.path("a"))); err != nil || hunks != nil {
		t.Errorf("after nothing has changed: %v, %v", hunks, err)
	}
	o, err := b.edit("a", "ONE", "two")
	if err != nil || len(o.Notes) > 0 {
		t.Errorf("the next edit: %+v, %v", o, err)
	}
	_, err = b.Refresh(ctx, "", b.Look(b.path("gone")))
	wantCode(t, err, Missing)
	if hunks, err := b.Refresh(ctx, "another", b.Look(b.path("a"))); err != nil || hunks != nil {
		t.Errorf("an agent that has not read it: %v, %v", hunks, err)
	}
}

func TestWhatAnAgentReadsIsReported(t *testing.T) {
	b := newBench(t, map[string]string{"a": lines})
	var told []string
	b.onRead = func(agent string, e readstate.Entry) {
		told = append(told, fmt.Sprint(agent, " ", filepath.Base(e.Path), " ", e.Ranges, " ", e.Base == nil))
	}
	f, err := b.Load(b.Look(b.path("a")))
	must(t, err)
	b.Saw("reader", f.entry(readstate.Range{From: 1, To: 2}))
	b.Saw("reader", f.entry(readstate.Range{From: 1, To: 2})) // knows it already
	b.Saw("reader", f.entry(readstate.Range{From: 5, To: 6}))
	b.write("a", "other\n")
	f, err = b.Load(b.Look(b.path("a")))
	must(t, err)
	b.Saw("reader", f.entry(readstate.Range{From: 1, To: 1}))
	want := []string{"reader a [{1 2}] true", "reader a [{1 2} {5 6}] true", "reader a [{1 1}] true"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A formatter's change is read in the encoding that the agent said, which no guess would find.
func TestARefreshKeepsTheEncodingThatWasSaid(t *testing.T) {
	b := newBench(t, map[string]string{"a": "x \xe9\ny\n"})
	b.read("a")
	e, _ := b.Seen("").Get(b.path("a"))
	e.Encoding, e.Given = "windows-1251", true // in which \xe9 is й
	b.Saw("", e)
	b.write("a", "x \xe9\nz \xe9\n")
	hunks, err := b.Refresh(t.Context(), "", b.Look(b.path("a")))
	if err != nil || len(hunks) != 1 || !slices.Contains(hunks[0].Lines, "+z й") {
		t.Errorf("%v, %v", hunks, err)
	}
}
