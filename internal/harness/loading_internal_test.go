package harness

import (
	"testing"

	"github.com/haftdev/haft/tool"
)

// ENABLE_TOOL_SEARCH is read as other programs read it.
func TestSearchMode(t *testing.T) {
	for _, c := range []struct {
		value  string
		window int
		want   tool.DeferOptions
		asked  bool
	}{
		{"", 1_000_000, tool.DeferOptions{}, false},
		{"true", 200_000, tool.DeferOptions{Always: true}, true},
		{" ON ", 200_000, tool.DeferOptions{Always: true}, true},
		{"false", 200_000, tool.DeferOptions{Never: true}, false},
		{"0", 200_000, tool.DeferOptions{Never: true}, false},
		{"auto", 1_000_000, tool.DeferOptions{Tokens: 20_000, Count: -1}, true},
		{"auto:5", 200_000, tool.DeferOptions{Tokens: 10_000, Count: -1}, true},
		{"auto:5", 100_000, tool.DeferOptions{Tokens: 5_000, Count: -1}, true},
		{"auto:0", 200_000, tool.DeferOptions{Always: true}, true},
		{"auto:100", 200_000, tool.DeferOptions{Never: true}, true},
		{"auto:x", 200_000, tool.DeferOptions{}, false},
		{"perhaps", 200_000, tool.DeferOptions{}, false},
	} {
		if got, asked := searchMode(c.value, c.window); got != c.want || asked != c.asked {
			t.Errorf("%q with %d: %+v, %v; want %+v, %v", c.value, c.window, got, asked, c.want, c.asked)
		}
	}
}
