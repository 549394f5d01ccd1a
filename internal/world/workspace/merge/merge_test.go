package merge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

func lines(s string) [][]byte {
	var out [][]byte
	for l := range strings.SplitAfterSeq(s, "\n") {
		if l != "" {
			out = append(out, []byte(l))
		}
	}
	return out
}

func merge(base, ours, theirs string) Result { return Lines(lines(base), lines(ours), lines(theirs)) }

func TestMerge(t *testing.T) {
	cases := []struct {
		name, base, ours, theirs string
		clean                    bool
		want                     string
	}{
		{"changes far apart join", "a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", true, "A\nb\nc\nd\nE\n"},
		{"the same change on both sides is one change", "a\nb\n", "a\nX\n", "a\nX\n", true, "a\nX\n"},
		{"the same line changed twice conflicts", "a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", false, "a\n<<<<<<< edit\nX\n=======\nY\n>>>>>>> disk\nc\n"},
		{"adjoining changes conflict", "a\nb\n", "A\nb\n", "a\nB\n", false, "<<<<<<< edit\nA\nb\n=======\na\nB\n>>>>>>> disk\n"},
		{"a lost final newline is a change", "a\nb\n", "a\nb", "A\nb\n", false, "<<<<<<< edit\na\nb\n=======\nA\nb\n>>>>>>> disk\n"},
		{"an untouched side takes the other whole", "a\n", "a\n", "b\n", true, "b\n"},
		{"markers end as the lines do", "a\r\n", "b\r\n", "c\r\n", false, "<<<<<<< edit\r\nb\r\n=======\r\nc\r\n>>>>>>> disk\r\n"},
		{"two appends at the end conflict", "a\n", "a\nb\n", "a\nc\n", false, "a\n<<<<<<< edit\nb\n=======\nc\n>>>>>>> disk\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := merge(c.base, c.ours, c.theirs)
			if r.Clean() != c.clean {
				t.Errorf("clean = %v, want %v", r.Clean(), c.clean)
			}
			if got := string(r.Marked("edit", "disk")); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMarkersInAFileOfCarriageReturns(t *testing.T) {
	cr := func(s string) [][]byte { return [][]byte{[]byte(s + "\r")} }
	if got := string(Lines(cr("a"), cr("b"), cr("c")).Marked("edit", "disk")); got != "<<<<<<< edit\rb\r=======\rc\r>>>>>>> disk\r" {
		t.Errorf("got %q", got)
	}
}

func TestForeignChunksAreMarked(t *testing.T) {
	r := merge("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n")
	var foreign []string
	for _, c := range r.Chunks {
		if c.Foreign {
			foreign = append(foreign, fmt.Sprintf("%d:%s", c.BaseLine, c.Ours))
		}
	}
	if got := strings.Join(foreign, " "); got != "3:[D\n]" {
		t.Errorf("foreign chunks %q", got)
	}
}

func TestOverwriteTakesOurSideOfConflictsOnly(t *testing.T) {
	r := merge("a\nb\nc\nd\ne\n", "X\nb\nc\nd\ne\n", "Y\nb\nc\nd\nE\n")
	if got := string(r.Bytes()); got != "X\nb\nc\nd\nE\n" {
		t.Errorf("got %q", got)
	}
}

// TestAgainstGit compares with git merge-file on random cases: a clean merge of ours must be git's text, and where git
// sees a conflict so must we. HAFT_MERGE_CASES sets how many (a git process per case makes ten thousand take half a minute)
// and HAFT_MERGE_SEED which.
func TestAgainstGit(t *testing.T) {
	git := needtest.Program(t, "git")
	n, seed := intEnv(t, "HAFT_MERGE_CASES", 1000/needtest.Every(10)), intEnv(t, "HAFT_MERGE_SEED", 7)
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, uint64(seed)))
	clean, stricter := 0, 0
	for i := range n {
		base := randomText(rng)
		ours, theirs := mutate(rng, base), mutate(rng, base)
		want, wantClean := gitMerge(t, git, dir, base, ours, theirs)
		r := Lines(base, ours, theirs)
		switch {
		case r.Clean() && !wantClean:
			t.Fatalf("case %d: git conflicts, ours is clean\nbase %q\nours %q\ntheirs %q\ngit %q\ngot %q", i, base, ours, theirs, want, r.Bytes())
		case r.Clean() && !bytes.Equal(r.Bytes(), want):
			t.Fatalf("case %d: different clean text\nbase %q\nours %q\ntheirs %q\ngit %q\ngot %q", i, base, ours, theirs, want, r.Bytes())
		case r.Clean():
			clean++
		case wantClean:
			stricter++
		}
	}
	t.Logf("%d cases: %d clean and equal, %d stricter than git", n, clean, stricter)
	if clean < n/10 || stricter > n/20 {
		t.Errorf("%d clean, %d stricter of %d: the merge refuses too much", clean, stricter, n)
	}
}

func intEnv(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func gitMerge(t *testing.T, git, dir string, base, ours, theirs [][]byte) ([]byte, bool) {
	t.Helper()
	name := func(s string) string { return filepath.Join(dir, s) }
	for f, l := range map[string][][]byte{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(name(f), bytes.Join(l, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(git, "merge-file", "-p", "-q", name("ours"), name("base"), name("theirs"))
	out, err := cmd.Output()
	if ee, ok := err.(*exec.ExitError); ok && ee.ExitCode() > 0 && ee.ExitCode() < 128 {
		return out, false
	} else if err != nil {
		t.Fatal(err)
	}
	return out, true
}

// randomText has few distinct lines, so that alignment is ambiguous often.
func randomText(rng *rand.Rand) [][]byte {
	alphabet := 3 + rng.IntN(30)
	var out [][]byte
	for range rng.IntN(25) {
		out = append(out, randomLine(rng, alphabet))
	}
	return unterminate(rng, out)
}

func randomLine(rng *rand.Rand, alphabet int) []byte {
	end := "\n"
	if rng.IntN(12) == 0 {
		end = "\r\n"
	}
	return []byte(strconv.Itoa(rng.IntN(alphabet)) + end)
}

func unterminate(rng *rand.Rand, lines [][]byte) [][]byte {
	if n := len(lines); n > 0 && rng.IntN(5) == 0 {
		lines[n-1] = bytes.TrimRight(lines[n-1], "\r\n")
	}
	return lines
}

func mutate(rng *rand.Rand, base [][]byte) [][]byte {
	var out [][]byte
	rate := 4 + rng.IntN(20)
	for _, l := range base {
		switch rng.IntN(rate) {
		case 0:
		case 1:
			out = append(out, randomLine(rng, 30))
		case 2:
			out = append(out, randomLine(rng, 30), l)
		default:
			out = append(out, l)
		}
	}
	if rng.IntN(6) == 0 {
		out = append(out, randomLine(rng, 30))
	}
	for i := range len(out) - 1 { // only the last line may lack its end
		if !bytes.HasSuffix(out[i], []byte("\n")) {
			out[i] = append(bytes.Clone(out[i]), '\n')
		}
	}
	return out
}
