package card_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/test/changetest"
)

// TestAShownChangeIsTheWholeChange applies what people see of random changes to the
// file as it was: that is the file as it becomes.
func TestAShownChangeIsTheWholeChange(t *testing.T) {
	unix := func(text []byte) []byte { // as lines are shown if all of them end in CRLF
		return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	for _, s := range changetest.NewProject(t).Approved(t, rand.New(rand.NewPCG(15, 2)), 150) {
		shown := card.PreviewOf(s.Shown, nil)
		if len(shown.Files) != 1 || shown.Files[0].Path != s.Path {
			t.Errorf("%s: shown %+v", s, shown)
			continue
		}
		made := s.Made(t)
		if d := cmp.Diff(card.Diff(made, nil).Hunks, shown.Files[0].Hunks); d != "" {
			t.Errorf("%s: shown otherwise than made (-made +shown):\n%s", s, d)
		}
		before, after := made.After.Text[:0:0], made.After.Text
		if made.Before != nil {
			before = made.Before.Text
		}
		got, err := changetest.Apply(before, shown.Files[0].Hunks)
		if err != nil { // shown without the carriage returns that every line has
			before, after = unix(before), unix(after)
			got, err = changetest.Apply(before, shown.Files[0].Hunks)
		}
		if err != nil || !bytes.Equal(got, after) {
			t.Errorf("%s: what is shown makes %q, the call made %q: %v", s, got, after, err)
		}
	}
}
