package demo

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/haftdev/haft/tool"
)

func TestChoose(t *testing.T) {
	all := scenes()
	for _, tt := range []struct {
		line      string
		suggested int
		want      int
		quit      bool
	}{
		{"\n", 0, 0, false},
		{"\n", 2, 2, false},
		{"\n", len(all), 0, true}, // after the last scene there is nothing left to suggest
		{"3\n", 0, 2, false},
		{"Preview\n", 0, 2, false},
		{"cr\n", 0, 4, false},
		{"9\n", 0, -1, false},
		{"dance\n", 0, -1, false},
		{"q\n", 0, 0, true},
		{"", 0, 0, true}, // the input has ended
	} {
		i, quit := choose(tt.line, all, tt.suggested)
		if quit != tt.quit || !quit && i != tt.want {
			t.Errorf("choose(%q, suggested %d) = %d, %v; want %d, %v", tt.line, tt.suggested, i, quit, tt.want, tt.quit)
		}
	}
}

// After the last scene the menu suggests one that was not seen, if there is one.
func TestTheMenuSuggestsWhatWasNotSeen(t *testing.T) {
	for _, tt := range []struct {
		seen  []bool
		after int
		want  int
	}{
		{[]bool{true, false, false}, 0, 1},
		{[]bool{false, false, true}, 2, 0},
		{[]bool{true, false, true}, 2, 1},
		{[]bool{true, true, true}, 1, 3},
	} {
		if got := unseen(tt.seen, tt.after); got != tt.want {
			t.Errorf("after %d of %v: %d, want %d", tt.after, tt.seen, got, tt.want)
		}
	}
}

// The menu comes back after a wrong word, and a scene that cannot be played says why.
func TestTheMenuComesBack(t *testing.T) {
	lines := []string{"dance\n", "2\n", "q\n"}
	var out bytes.Buffer
	o := &Options{Out: &out, Err: &out, Quick: true, ReadLine: func(context.Context) (string, error) {
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}}
	quick := scene{name: "next", title: "the next"}
	first := scene{name: "first", title: "the first"}
	seen := scene{name: "seen", title: "one that fails to be ready", ready: func() error { return context.Canceled }}
	if err := o.menu(t.Context(), []scene{first, seen, quick}); err != context.Canceled {
		t.Fatalf("the scene was not played: %v", err)
	}
	for _, want := range []string{"enter: first", `There is no scene "dance"`, "2  seen        one that fails to be ready"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &out)
		}
	}
}

// Only what means yes allows: anything else is asked about again.
func TestAnUnclearAnswerIsAskedAgain(t *testing.T) {
	for answers, want := range map[string]tool.Behavior{"maybe,don't,q,n": tool.Deny, "hm,": tool.Allow, "NO": tool.Deny, "yes": tool.Allow} {
		left := strings.Split(answers, ",")
		o := &Options{Out: io.Discard, ReadLine: func(context.Context) (string, error) {
			line := left[0]
			left = left[1:]
			return line, nil
		}}
		if v, err := o.Ask(t.Context(), tool.Case{Call: &tool.Call{Tool: "Bash", Input: []byte(`{"command":"make"}`)}}, tool.Verdict{}); err != nil || v.Behavior != want || len(left) > 0 {
			t.Errorf("%q: %v, %v, %d answers left; want %v", answers, v.Behavior, err, len(left), want)
		}
	}
}
