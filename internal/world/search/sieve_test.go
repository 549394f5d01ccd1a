package search

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

// TestMatchesAcrossPiecesOfALargeFile puts what is sought at and around the places where
// large files are cut into pieces.
func TestMatchesAcrossPiecesOfALargeFile(t *testing.T) {
	const size = 3*firstRead + 1000
	hay := bytes.Repeat([]byte("some hay, and more of it\n"), size/25)
	piece := firstRead - 64
	for pattern, needle := range map[string]string{
		"a_rather_long_needle_of_some_forty_bytes": "\na_rather_long_needle_of_some_forty_bytes\n",
		`0x[0-9a-f]{30}\b`:                         "\n0x0123456789abcdef0123456789abcd\n",
		`[A-Z]{5}_[0-9]{4}$`:                       "\nABCDE_1234\n",
		`(?i)QUX\d+`:                               "\nqux12\n",
	} {
		dir := t.TempDir()
		var places []int
		for _, cut := range []int{firstRead, firstRead + piece, firstRead + 2*piece, len(hay) - len(needle)} {
			for d := -70; d <= 8; d += 3 {
				places = append(places, min(cut+d, len(hay)-len(needle)))
			}
		}
		for i, at := range places {
			text := bytes.Clone(hay)
			copy(text[at:], needle)
			writeFile(t, filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), string(text[:max(size/2, at+len(needle))]))
		}
		writeFile(t, filepath.Join(dir, "without.txt"), string(hay))
		s := New(&Options{Stateless: true})
		defer s.Close()
		if hits := answer(t, s, Query{Dir: dir, Pattern: pattern, Mode: Count}); len(hits) != len(places) {
			t.Errorf("%s: found in %d of %d files", pattern, len(hits), len(places))
		}
		r, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: "qqqqzzzz", Globs: []string{"without.txt"}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Stats.Bytes != int64(len(hay)) {
			t.Errorf("%s: %d bytes were read, the file has %d", pattern, r.Stats.Bytes, len(hay))
		}
	}
}
