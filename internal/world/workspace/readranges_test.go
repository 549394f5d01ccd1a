//go:build linux

package workspace

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// readLines shows some lines of a file to the main conversation.
func (b *bench) readLines(name string, ranges ...readstate.Range) {
	f, err := b.Load(b.Look(b.path(name)))
	must(b.t, err)
	b.Saw("", f.entry(ranges...))
}

func (b *bench) rewrite(name, content string, c Choice) error {
	_, err := b.Revise(context.Background(), Revision{Path: b.Look(b.path(name)), Create: true, Whole: true, OnConflict: c,
		Make: func(t *textfile.Text) ([]byte, []string, error) {
			if t == nil {
				return []byte(content), nil, nil
			}
			raw, err := t.Rewrite(content)
			return raw, nil, err
		}})
	return err
}

func TestAWholeContentReplacesOnlyLinesThatWereShown(t *testing.T) {
	numbers := strings.Repeat("x\n", 30)
	cases := []struct {
		name string
		do   func(*bench)
		gap  string // the lines that the refusal names, or ""
	}{
		{"nothing shown", func(b *bench) { b.readLines("f") }, "has not been read yet"},
		{"the beginning shown", func(b *bench) { b.readLines("f", readstate.Range{From: 1, To: 10}) }, "offset 11 and limit 20"},
		{"a gap in the middle", func(b *bench) {
			b.readLines("f", readstate.Range{From: 1, To: 10})
			b.readLines("f", readstate.Range{From: 20, To: 30})
		}, "offset 11 and limit 9"},
		{"all shown in parts", func(b *bench) {
			b.readLines("f", readstate.Range{From: 1, To: 10})
			b.readLines("f", readstate.Range{From: 11, To: 30})
		}, ""},
		{"an edit shows no more than it shows", func(b *bench) {
			b.write("f", "first\n"+numbers)
			b.readLines("f", readstate.Range{From: 1, To: 3})
			_, err := b.edit("f", "first", "1st\nline")
			must(b.t, err)
		}, "offset 8 and limit 25"},
		{"somebody else changed it since", func(b *bench) {
			b.readLines("f", readstate.Range{From: 1, To: 10})
			b.write("f", "new\n"+numbers)
		}, "offset 11 and limit 20"},
		{"written before", func(b *bench) { must(b.t, b.rewrite("g", "a\n", Refuse)); b.readLines("f", Whole) }, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"f": numbers})
			c.do(b)
			err := b.rewrite("f", "other\n", Overwrite)
			if c.gap == "" {
				must(t, err)
				must(t, b.rewrite("f", "again\n", Refuse)) // what was written is known
				return
			}
			if wantCode(t, err, Unread); err != nil && !strings.Contains(err.Error(), c.gap) {
				t.Errorf("got %v, want %q", err, c.gap)
			}
		})
	}
}

func TestAReadThatShowedNothingIsNone(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\n"})
	b.readLines("f")
	_, err := b.edit("f", "one", "1")
	wantCode(t, err, Unread)
}

func TestLinesAreKnownWhereTheyMovedTo(t *testing.T) {
	hunks := []patch.Hunk{{OldStart: 5, OldLines: 3, NewStart: 5, NewLines: 5}, {OldStart: 20, OldLines: 4, NewStart: 22, NewLines: 1}}
	got := moved([]readstate.Range{{From: 1, To: 2}, {From: 6, To: 9}, {From: 19, To: 30}}, hunks, len(hunks))
	want := []readstate.Range{{From: 1, To: 2}, {From: 5, To: 9}, {From: 10, To: 11}, {From: 21, To: 21}, {From: 22, To: 22}, {From: 23, To: 29}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
