//go:build linux

package workspace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

// bigText has n bytes of lines, all different.
func bigText(n int) string {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "line %d: the quick brown fox jumps over the lazy dog\n", i)
	}
	return b.String()
}

func word(i int) string {
	if i == 0 {
		return "quick"
	}
	return fmt.Sprintf("quick%d", i)
}

// TestAThousandEditsLeaveNothingBehind edits one megabyte over and over: neither memory, descriptors nor time per edit grow.
// HAFT_EDITS=1000 makes it the whole thousand.
func TestAThousandEditsLeaveNothingBehind(t *testing.T) {
	edits := intEnv(t, "HAFT_EDITS", 160)
	b := newBench(t, map[string]string{"f": bigText(1 << 20)})
	b.onChange = nil
	b.read("f")
	var heap []uint64
	var took []time.Duration
	quarter := edits / 4
	files := descriptors(t)
	for i := range edits {
		start := time.Now()
		_, err := b.edit("f", fmt.Sprintf("line 5000: the %s brown", word(i)), fmt.Sprintf("line 5000: the %s brown", word(i+1)))
		took = append(took, time.Since(start))
		must(t, err)
		if (i+1)%quarter == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = append(heap, m.HeapAlloc)
		}
	}
	t.Logf("heap after each quarter %v; median edit in the first quarter %v, in the last %v", heap, median(took[:quarter]), median(took[3*quarter:]))
	if growth := int64(heap[3]) - int64(heap[0]); growth > 2<<20 {
		t.Errorf("the heap grew by %d bytes over %d edits", growth, 3*quarter)
	}
	if first, last := median(took[:quarter]), median(took[3*quarter:]); last > 5*first {
		t.Errorf("an edit took %v at first and %v in the end", first, last)
	}
	for dir, most := range map[string]int{"writes": 0, "locks": 512} {
		entries, err := os.ReadDir(filepath.Join(b.state, dir))
		must(t, err)
		if len(entries) > most {
			t.Errorf("%d files are left in %s", len(entries), dir)
		}
	}
	if now := descriptors(t); now > files+2 {
		t.Errorf("%d descriptors before, %d after", files, now)
	}
}

// intEnv lets a long run be asked for.
func intEnv(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	must(t, err)
	return n
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

func BenchmarkEdit(b *testing.B) {
	for _, size := range []int{10 << 10, 1 << 20, 10 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			w := newBench(b, map[string]string{"f": bigText(size)})
			w.onChange = nil
			w.read("f")
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := w.edit("f", fmt.Sprintf("line 150: the %s brown", word(i)), fmt.Sprintf("line 150: the %s brown", word(i+1))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLook(b *testing.B) {
	w := newBench(b, map[string]string{"a/b/c/d.go": "x"})
	b.ReportAllocs()
	for b.Loop() {
		w.Look(w.path("a/b/c/d.go"))
	}
}
