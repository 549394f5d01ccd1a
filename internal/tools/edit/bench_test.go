//go:build unix

package edit_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/edit"
)

// bigText has n bytes of lines, all different.
func bigText(n int) string {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "line %d: the quick brown fox jumps over the lazy dog\n", i)
	}
	return b.String()
}

// TestTenMegabytesAgainstSed compares an Edit (read state, pre-image, diff, fsync and all) with sed -i on the same file.
func TestTenMegabytesAgainstSed(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector distorts the comparison")
	}
	needtest.Need(t, "sed")
	b := newBench(t, map[string]string{"ours": bigText(10 << 20), "seds": bigText(10 << 20)})
	b.show("ours")
	var ours, seds []time.Duration
	for i := range 7 {
		from, to := fmt.Sprintf("line 100000: the quick%d brown", i), fmt.Sprintf("line 100000: the quick%d brown", i+1)
		if i == 0 {
			from = "line 100000: the quick brown"
		}
		start := time.Now()
		_, err := b.run(b.edit, edit.Input{FilePath: b.path("ours"), OldString: from, NewString: to})
		ours = append(ours, time.Since(start))
		must(t, err)
		start = time.Now()
		must(t, exec.Command("sed", "-i", fmt.Sprintf("s/%s/%s/", from, to), b.path("seds")).Run())
		seds = append(seds, time.Since(start))
	}
	if b.content("ours") != b.content("seds") {
		t.Fatal("the two files differ")
	}
	o, s := slices.Min(ours), slices.Min(seds)
	t.Logf("Edit %v, sed -i %v, ratio %.2f", o, s, float64(o)/float64(s))
	if o > 3*s {
		t.Errorf("an Edit takes %v, more than three times sed's %v", o, s)
	}
}
