package tui

import (
	"slices"
	"testing"
)

func TestArgumentsAreCompleted(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/cost ye")
		b.sees("▸ yesterday")
		b.type_("\t")
		if got := b.app.write.Text(); got != "/cost yesterday " {
			t.Errorf("%q", got)
		}
		if !slices.Contains(b.talk.asked, `cost [] "ye"`) {
			t.Errorf("asked for %q", b.talk.asked)
		}
		b.type_("and ")
		if !slices.Contains(b.talk.asked, `cost ["yesterday" "and"] ""`) {
			t.Errorf("asked for %q", b.talk.asked)
		}
		b.type_("\x15/cost yesterday\r") // which is all there
		b.sees("answer to cost")
	})
}

func TestResourcesOfServersAreCompleted(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("look at @hub:d")
		b.sees("▸ hub:db://users")
		b.type_("\t")
		if got := b.app.write.Text(); got != "look at @hub:db://users " {
			t.Errorf("%q", got)
		}
	})
}
