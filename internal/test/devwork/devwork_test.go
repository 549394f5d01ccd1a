package devwork_test

import (
	"testing"

	"github.com/haftdev/haft/internal/test/devwork"
)

func TestTheTable(t *testing.T) {
	seen := map[string]bool{}
	reads := 0
	for _, c := range devwork.Commands() {
		if seen[c.Line] {
			t.Errorf("%s is there twice", c.Line)
		}
		seen[c.Line] = true
		if c.Reads {
			reads++
		}
	}
	if len(seen) < 70 || reads < 30 || len(seen)-reads < 30 {
		t.Errorf("%d commands, of which %d only read", len(seen), reads)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"ok  \texample.com/shelf/books\t0.013s":          "ok  \texample.com/shelf/books\tN s",
		"ok  \texample.com/shelf/books\t(cached)":        "ok  \texample.com/shelf/books\tN s",
		"# duration_ms 61.5":                             "# duration_ms N",
		"[Inferior 1 (process 4711) exited normally]":    "[Inferior 1 (process N) exited normally]",
		"Breakpoint 1 at 0x1161: file c/shelf.c":         "Breakpoint 1 at 0xN: file c/shelf.c",
		"/tmp/tmp.Xy12/shelf: no":                        "TMP: no",
		"main.go:3: 12 books":                            "main.go:3: 12 books",
		"bash: line 1:   926 Segmentation fault sh -c x": "bash: line 1: N Segmentation fault sh -c x",
	} {
		if got := devwork.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}
