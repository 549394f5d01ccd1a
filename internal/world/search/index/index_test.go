package index_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/world/search/index"
	"github.com/haftdev/haft/internal/world/search/rx"
)

// corpus makes documents of lines with words in all cases, and a few other scripts.
func corpus(r *rand.Rand, n int) []string {
	words := []string{"needle", "Needle", "NEEDLE", "foo_bar", "x->y", "0xdeadbeef", "日本語", "héllo", "TODO", "fixme", "\t", "  ", "a", "kelvin", "mess"}
	docs := make([]string, n)
	for i := range docs {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteString([]string{" ", "", "\n", "."}[r.IntN(4)])
			if r.IntN(5) == 0 {
				fmt.Fprintf(&b, "id%d", r.IntN(1000))
			}
		}
		docs[i] = b.String()
	}
	return docs
}

func build(docs []string, group int) (*index.Index, []index.Slot) {
	x, slots := index.New(1), make([]index.Slot, len(docs))
	var g index.Grams
	var batch []index.Doc
	for i, d := range docs {
		batch = append(batch, index.Doc{append([]uint32(nil), g.Of([]byte(d))...), len(d), &slots[i]})
		if len(batch) == group {
			x.Add(batch)
			batch = nil
		}
	}
	x.Add(batch)
	return x, slots
}

// TestNothingThatMatchesIsRuledOut is the one property that answers depend on. Every
// size of block is tried, so that rows are shared by chance as much as they can be.
func TestNothingThatMatchesIsRuledOut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	docs := corpus(r, 300)
	patterns := []string{"needle", "NEEDLE", "foo_bar", "TODO|fixme", "id1\\d+", "日本", "x->y", "héllo.*needle", `\bneedle\b`, "(foo|needle)id", "kelvin", "mess", "ab?c", "deadbeef", "n[eE]edle"}
	for range 100 {
		if d := docs[r.IntN(len(docs))]; len(d) > 10 {
			from := r.IntN(len(d) - 5)
			if piece := d[from : from+5]; !strings.Contains(piece, "\n") {
				patterns = append(patterns, "(?-u)"+quote(piece))
			}
		}
	}
	for _, group := range []int{index.Small, index.Group, 20, 1} {
		x, slots := build(docs, group)
		ruledOut := 0
		for _, expr := range patterns {
			for _, fold := range []bool{false, true} {
				p, err := rx.Compile(expr, &rx.Options{IgnoreCase: fold})
				if err != nil {
					t.Fatal(err)
				}
				set := x.Candidates(p.Required())
				if set == nil {
					continue
				}
				m := p.Matcher()
				for i, d := range docs {
					m.Reset([]byte(d + "\n"))
					_, _, matches := m.Next()
					if matches && !set.Has(&slots[i]) {
						t.Fatalf("groups of %d: %q (fold %v) matches %q, which is ruled out", group, expr, fold, d)
					}
					if !set.Has(&slots[i]) {
						ruledOut++
					}
				}
				p.Release(m)
			}
		}
		if ruledOut == 0 {
			t.Errorf("groups of %d: nothing is ever ruled out", group)
		}
	}
}

// quote writes bytes as a pattern for them.
func quote(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\x%02x`, s[i])
	}
	return b.String()
}

func TestUnknownFilesAreNeverRuledOut(t *testing.T) {
	x, slots := build([]string{"hay"}, 1)
	p, err := rx.Compile("needle", nil)
	if err != nil {
		t.Fatal(err)
	}
	set := x.Candidates(p.Required())
	var never index.Slot
	if !set.Has(&never) {
		t.Error("a file without a signature is ruled out")
	}
	if set.Has(&slots[0]) {
		t.Error("a file without the literal is not ruled out")
	}
	if next := x.Next(); !next.Candidates(p.Required()).Has(&slots[0]) {
		t.Error("the signature of an index that was replaced still counts")
	}
	if x.Candidates(nil) != nil {
		t.Error("no clauses rule something out")
	}
}

func TestSteady(t *testing.T) {
	for text, want := range map[string]bool{"plain": true, "日本": true, "\u212A": false, "me\u017F": false} {
		if got := index.Steady([]byte(text)); got != want {
			t.Errorf("Steady(%q) = %v", text, got)
		}
	}
}
