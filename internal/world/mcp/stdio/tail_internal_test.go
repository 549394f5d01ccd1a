package stdio

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a server says first is often the reason of what it says last.
func TestTheFirstAndTheLastLinesAreKept(t *testing.T) {
	lines := func(from, to int) (list []string) {
		for n := from; n <= to; n++ {
			list = append(list, fmt.Sprint("line ", n))
		}
		return list
	}
	var of tail
	of.follow(strings.NewReader(strings.Join(lines(1, 100), "\n")))
	want := append(append(lines(1, 10), "… 70 more lines …"), lines(81, 100)...)
	if diff := cmp.Diff(want, of.snapshot()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for shown, want := range map[int]string{
		12:  strings.Join(lines(1, 12), "\n"),
		100: strings.Join(append(append(lines(1, 6), "… 89 more lines …"), lines(96, 100)...), "\n"),
	} {
		if diff := cmp.Diff(want, Excerpt(lines(1, shown))); diff != "" {
			t.Errorf("of %d lines (-want +got):\n%s", shown, diff)
		}
	}
}
