package rx

import (
	"math/rand/v2"
	"testing"
)

// TestWindow compares the vectors with one place at a time, at every offset within
// a vector and for buffers of every length around one.
func TestWindow(t *testing.T) {
	if !hasWindows {
		t.Skip("this processor or build has no vectors")
	}
	r := rand.New(rand.NewPCG(8, 9))
	for range 3000 {
		var triples []triple
		choice := 1 + 3*r.IntN(2)
		for range 1 + r.IntN(10) {
			var tr triple
			for k := range tr {
				for range 1 + r.IntN(choice) {
					tr[k][r.IntN(256)] = true
				}
				if choice > 1 && r.IntN(6) == 0 {
					tr[k] = anyByte
				}
			}
			triples = append(triples, tr)
		}
		w := newWindow(triples)
		if len(triples) == 1 {
			w.rest = []bytesIn{anyByte, triples[0][0]}
		}
		buf := make([]byte, r.IntN(140))
		for i := range buf {
			buf[i] = byte(r.IntN(256))
		}
		if len(buf) > 3 { // make one occur
			tr, at := triples[r.IntN(len(triples))], r.IntN(len(buf)-2)
			for k := range tr {
				for c, in := range tr[k] {
					if in {
						buf[at+k] = byte(c)
					}
				}
			}
		}
		for from := 0; from <= len(buf); from++ {
			want := from
			for want < len(buf) && !w.at(buf, want) {
				want++
			}
			if got := w.next(buf, from, &block{}); got != want {
				t.Fatalf("from %d of %d: got %d, want %d", from, len(buf), got, want)
			}
		}
		var b block
		for from := 0; from <= len(buf); {
			want := w.next(buf, from, &block{})
			if got := w.next(buf, from, &b); got != want {
				t.Fatalf("from %d of %d, going on: got %d, want %d", from, len(buf), got, want)
			}
			from = want + 1 + r.IntN(3)
		}
	}
}
