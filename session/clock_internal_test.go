package session

import (
	"os"
	"testing"
	"time"
)

// A session whose files are from the future, because the clock was set back, closes at once, is not taken for
// old, and is resumed as it was.
func TestFilesFromTheFuture(t *testing.T) {
	j := newPlainJournal(t)
	j.add(t, prefixStep+1<<20)
	future := time.Now().Add(48 * time.Hour)
	if err := os.Chtimes(j.path, future, future); err != nil {
		t.Fatal(err)
	}
	var length int
	for range 2 {
		s, err := resume(t.Context(), j.path, &ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n := s.Restored().History.Len()
		if n < 100 || length != 0 && n != length {
			t.Errorf("%d messages, and %d before", n, length)
		}
		length = n
		began := time.Now()
		if err := s.sealPrefix(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("closing took %v", took)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
