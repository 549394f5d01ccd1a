package sessiontest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
)

// RunLogs checks what [session.Log] promises.
func RunLogs(t *testing.T, open func(t *testing.T) session.Logs) {
	t.Run("who comes second is fenced and has written nothing", func(t *testing.T) { fence(t, open(t)) })
	t.Run("of many who append at once one does", func(t *testing.T) { race(t, open(t)) })
	t.Run("what was appended is read back, the newest first", func(t *testing.T) { back(t, open(t)) })
	t.Run("conversations are apart", func(t *testing.T) { apart(t, open(t)) })
	t.Run("contents are kept by digest", func(t *testing.T) { contents(t, open(t).Blobs()) })
}

func openLog(t *testing.T, logs session.Logs, id, agent string) (session.Log, session.Pos) {
	t.Helper()
	log, pos, err := logs.Open(t.Context(), id, agent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log, pos
}

func appendTo(t *testing.T, log session.Log, after session.Pos, text string) session.Pos {
	t.Helper()
	pos, err := log.Append(t.Context(), after, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return pos
}

func text(t *testing.T, log session.Log) string {
	t.Helper()
	var pieces [][]byte
	for p, err := range log.Back(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, p)
	}
	slices.Reverse(pieces)
	return string(bytes.Join(pieces, nil))
}

func fence(t *testing.T, logs session.Logs) {
	id := session.NewUUID()
	first, start := openLog(t, logs, id, "")
	if start != (session.Pos{}) {
		t.Fatalf("a log of nothing ends at %v", start)
	}
	one := appendTo(t, first, start, "1\n")
	second, pos := openLog(t, logs, id, "")
	if pos != one {
		t.Fatalf("the log ends at %v, and is said to end at %v", one, pos)
	}
	two := appendTo(t, second, pos, "2\n")
	for range 2 { // it stays so
		if _, err := first.Append(t.Context(), one, []byte("stale\n")); !errors.Is(err, session.ErrFenced) {
			t.Fatalf("the stale writer: %v", err)
		}
	}
	late, _ := openLog(t, logs, id, "")
	if _, err := late.Append(t.Context(), session.Pos{}, []byte("as if new\n")); !errors.Is(err, session.ErrFenced) {
		t.Fatalf("a writer that takes the log for new: %v", err)
	}
	appendTo(t, second, two, "3\n")
	if got := text(t, second); got != "1\n2\n3\n" {
		t.Errorf("the log is %q", got)
	}
}

func race(t *testing.T, logs session.Logs) {
	const writers, rounds = 8, 20
	id := session.NewUUID()
	var want string
	for round := range rounds {
		var group sync.WaitGroup
		var won atomic.Int32
		names := make(chan string, writers)
		open := make([]session.Log, writers)
		var pos session.Pos
		for w := range writers {
			open[w], pos = openLog(t, logs, id, "")
		}
		for w, log := range open {
			group.Go(func() {
				name := fmt.Sprintf("%d by %d\n", round, w)
				switch _, err := log.Append(t.Context(), pos, []byte(name)); {
				case err == nil:
					won.Add(1)
					names <- name
				case !errors.Is(err, session.ErrFenced):
					t.Errorf("a loser: %v", err)
				}
			})
		}
		group.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d writers appended after one place", won.Load())
		}
		want += <-names
	}
	log, _ := openLog(t, logs, id, "")
	if got := text(t, log); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func back(t *testing.T, logs session.Logs) {
	log, pos := openLog(t, logs, session.NewUUID(), "")
	var want string
	long := string(bytes.Repeat([]byte("x"), 3<<20)) + "\n"
	for i := range 40 {
		line := fmt.Sprintf("line %d\n", i)
		if i == 20 {
			line += long + "after it\n"
		}
		pos, want = appendTo(t, log, pos, line), want+line
	}
	if got := text(t, log); got != want {
		t.Errorf("read %d bytes, want %d", len(got), len(want))
	}
	var newest string
	for p, err := range log.Back(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		newest = string(p)
		break
	}
	if newest == "" || !bytes.HasSuffix([]byte(want), []byte(newest)) {
		t.Errorf("the first piece is %.50q", newest)
	}
}

func apart(t *testing.T, logs session.Logs) {
	a, b := session.NewUUID(), session.NewUUID()
	for _, c := range []struct{ id, agent string }{{a, ""}, {a, "x1"}, {a, "x_2"}, {b, ""}, {b, "x1"}} {
		log, pos := openLog(t, logs, c.id, c.agent)
		if pos != (session.Pos{}) {
			t.Errorf("%v begins at %v", c, pos)
		}
		appendTo(t, log, pos, fmt.Sprintln(c))
		if got := text(t, log); got != fmt.Sprintln(c) {
			t.Errorf("%v has %q", c, got)
		}
	}
}

func contents(t *testing.T, store blob.Store) {
	content := bytes.Repeat([]byte("some content\n"), 1<<18)
	digest := blob.Digest(content)
	if _, err := store.Get(t.Context(), digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a content that was not put: %v", err)
	}
	for range 2 {
		if err := store.Put(t.Context(), digest, content); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := store.Get(t.Context(), digest); err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}
