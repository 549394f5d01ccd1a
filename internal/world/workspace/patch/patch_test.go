package patch

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/needtest"
)

func TestDiff(t *testing.T) {
	got := Diff([]byte("a\nb\nc\nd\ne\nf\ng\nh\n"), []byte("a\nb\nc\nd\nE\nf\ng\nh"), 2)
	want := []Hunk{{OldStart: 3, OldLines: 6, NewStart: 3, NewLines: 6, Lines: []string{
		" c", " d", "-e", "+E", " f", " g", "-h", "+h", noNewline}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := Diff([]byte("x"), []byte("x"), 5); got != nil {
		t.Errorf("equal texts have hunks %v", got)
	}
}

func TestUnifiedNamesEmptySidesAsPatchExpects(t *testing.T) {
	got := Unified("/dev/null", "b/x", Diff(nil, []byte("one\n"), 5))
	if want := "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+one\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPatchAppliesEveryDiff gives random diffs to patch(1).
func TestPatchAppliesEveryDiff(t *testing.T) {
	needPatch(t)
	rng := rand.New(rand.NewPCG(1, 9))
	for range 150 {
		before := randomText(rng)
		after := mutate(rng, before)
		if bytes.Equal(before, after) {
			continue
		}
		hunks := Diff(before, after, rng.IntN(6))
		if got, err := Apply(before, hunks); err != nil || !bytes.Equal(got, after) {
			t.Fatalf("before %q\nafter  %q\napplied %q, %v", before, after, got, err)
		}
		diff := Unified("a/f", "b/f", hunks)
		if got := applyPatch(t, before, diff); !bytes.Equal(got, after) {
			t.Fatalf("before %q\nafter  %q\npatched %q\n%s", before, after, got, diff)
		}
	}
}

func TestHunksOfAnotherTextAreNotApplied(t *testing.T) {
	hunks := Diff([]byte("a\nb\nc\n"), []byte("a\nB\nc\n"), 1)
	for _, other := range []string{"", "a\n", "a\nx\nc\n", "a\nb\nx\n"} {
		if got, err := Apply([]byte(other), hunks); err == nil {
			t.Errorf("applied to %q: %q", other, got)
		}
	}
}

func TestLargeTextsCostWhatDiffers(t *testing.T) {
	before := bytes.Repeat([]byte("the same line again and again\n"), 500_000)
	after := bytes.Clone(before)
	copy(after[len(after)/2:], "X")
	allocs := testing.AllocsPerRun(3, func() {
		if len(Diff(before, after, 5)) != 1 {
			t.Fatal("want one hunk")
		}
	})
	if allocs > 200 {
		t.Errorf("%v allocations for one changed line: the whole text was split", allocs)
	}
}

func needPatch(t *testing.T) {
	t.Helper()
	needtest.Program(t, "patch")
}

func applyPatch(t *testing.T, before []byte, diff string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, before, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("patch", "--binary", "--quiet", "--fuzz=0", "--no-backup-if-mismatch", file)
	cmd.Stdin = strings.NewReader(diff)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("patch: %v\n%s\n%s", err, out, diff)
	}
	got, err := os.ReadFile(file)
	if os.IsNotExist(err) { // patch removes a file that becomes empty
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func randomText(rng *rand.Rand) []byte {
	var b []byte
	for range rng.IntN(40) {
		b = append(b, "abcdefgh"[rng.IntN(8)])
		b = append(b, []string{"\n", "\n", "\n", "\r\n", "\r"}[rng.IntN(5)]...)
	}
	if rng.IntN(3) == 0 {
		b = append(b, 'z')
	}
	return b
}

func mutate(rng *rand.Rand, b []byte) []byte {
	out := bytes.Clone(b)
	for range 1 + rng.IntN(4) {
		if len(out) == 0 {
			return append(out, "new\n"...)
		}
		at := rng.IntN(len(out))
		switch rng.IntN(3) {
		case 0:
			out = append(out[:at], out[at+1:]...)
		case 1:
			out = append(out[:at:at], append([]byte("Q\n"), out[at:]...)...)
		case 2:
			out[at] = "xy\n"[rng.IntN(3)]
		}
	}
	return out
}
