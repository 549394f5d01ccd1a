package knowledge_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/knowledge"
)

func TestMenu(t *testing.T) {
	entries := []knowledge.Entry{
		{Name: "pdf", Text: "Fill in forms.\nRead them too."},
		{Name: "bare"},
		{Name: "long", Text: strings.Repeat("word ", 40)},
	}
	tests := []struct {
		name   string
		budget int
		want   string
	}{
		{"everything fits", 0, "- pdf: Fill in forms. Read them too.\n- bare\n- long: " + strings.TrimSpace(strings.Repeat("word ", 40))},
		{"the longest text is shortened first", 90, "- pdf: Fill in forms. Read them too.\n- bare\n- long: word word word word word word…"},
		{"names stay longest", 30, "- pdf\n- bare\n- long"},
		{"names that do not fit are counted", 20, "(and 3 more, not listed for lack of space)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, knowledge.Menu(entries, tt.budget)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMenuOfAnyLengthStaysWithinItsBudget(t *testing.T) {
	for _, n := range []int{1, 10, 200, 1000, 5000} {
		var entries []knowledge.Entry
		for i := range n {
			entries = append(entries, knowledge.Entry{Name: fmt.Sprintf("skill-%d-é", i), Text: strings.Repeat("Use when: é ", i%97)})
		}
		menu := knowledge.Menu(entries, 0)
		if size := utf8.RuneCountInString(menu); size > knowledge.DefaultBudget {
			t.Errorf("%d entries take %d characters", n, size)
		}
		if n == 200 {
			for _, e := range entries {
				if !strings.Contains(menu, "- "+e.Name) {
					t.Errorf("of 200 entries %s is not named", e.Name)
				}
			}
		}
	}
}
