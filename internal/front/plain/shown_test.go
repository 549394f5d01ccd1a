package plain

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/test/changetest"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/tool"
)

// TestTheQuestionShowsTheChange asks about random calls, and holds the lines of the
// question against what the calls made of their files.
func TestTheQuestionShowsTheChange(t *testing.T) {
	for _, s := range changetest.NewProject(t).Approved(t, rand.New(rand.NewPCG(15, 4)), 100) {
		var want []string
		for _, h := range card.Diff(s.Made(t), nil).Hunks {
			for _, l := range h.Lines {
				want = append(want, "    "+l[:1]+visible.Blanks(visibleText(l[1:])))
			}
		}
		var got []string
		for l := range strings.Lines(asked(t, s.Shown)) {
			l = strings.TrimSuffix(l, "\n")
			if rest, ok := strings.CutPrefix(l, "    "); ok && rest != "" && strings.ContainsAny(rest[:1], `+- \`) {
				got = append(got, l)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-made +asked):\n%s", s, d)
		}
	}
}

// asked is the text of the question about a call, which is answered with yes.
func asked(t *testing.T, c tool.Case) (text string) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := (&Person{out: &lines{w: &out}})
		defer p.HangUp()
		done := make(chan tool.Verdict, 1)
		go func() {
			v, _ := p.Ask(t.Context(), c, tool.Verdict{Behavior: tool.Ask, Reason: "no rule allows it"})
			done <- v
		}()
		synctest.Wait()
		time.Sleep(arming)
		p.Hear("y")
		if v := <-done; v.Behavior != tool.Allow {
			t.Errorf("answered yes, and got %s", v.Behavior)
		}
		text = out.String()
	})
	return text
}
