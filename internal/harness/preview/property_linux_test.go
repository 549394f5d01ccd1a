package preview_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/needtest"
)

// rounds is how many random cases a test runs: a quarter of the smoke test where nobody
// wants more, or as many as the environment says.
func rounds(t testing.TB, name string, smoke int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	if !needtest.Thorough() {
		return max(smoke/4, 1)
	}
	return smoke
}

// oddNames are what files are called in random cases.
var oddNames = []string{"a", "b", "c.txt", "with space", "new\nline", "-dash", "ünïcode", "\x1b[31mred", "quo'te\"s", "back\\slash", ".hidden", "d", "e", "\xff\xfe"}

// A script is random shell commands on random files.
type script struct{ *rand.Rand }

func (s script) name() string { return oddNames[s.IntN(len(oddNames))] }

func (s script) path() string {
	path := "./" + s.name()
	for s.IntN(3) == 0 {
		path += "/" + s.name()
	}
	return quote(path)
}

// quote writes a path for bash. Names that are no text are written in its escapes:
// a model's words are text.
func quote(path string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(path) {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String() + "'"
}

// operation is one command; that it fails does no harm, and it fails in both worlds
// or in none.
func (s script) operation() string {
	a, b := s.path(), s.path()
	switch s.IntN(16) {
	case 0, 1:
		return fmt.Sprintf("mkdir -p %s", a)
	case 2, 3, 4:
		return fmt.Sprintf("echo %d > %s", s.IntN(100), a)
	case 5:
		return fmt.Sprintf("echo %d >> %s", s.IntN(100), a)
	case 6:
		return fmt.Sprintf("[ -f %s ] && truncate -s %d %s", a, s.IntN(10), a)
	case 7:
		return fmt.Sprintf("[ -L %s ] || chmod %o %s", a, 0o700|s.IntN(0o100), a)
	case 8:
		return fmt.Sprintf("[ -f %s ] && chmod %o %s", a, 0o400|s.IntN(0o1000), a)
	case 9:
		return fmt.Sprintf("mv -T %s %s", a, b)
	case 10:
		return fmt.Sprintf("ln %s %s", a, b)
	case 11:
		return fmt.Sprintf("ln -s -T target%d %s", s.IntN(3), a)
	case 12:
		return fmt.Sprintf("rm -rf %s", a)
	case 13:
		return fmt.Sprintf("rm -rf %s && mkdir %s && echo new > %s/x", a, a, a)
	case 14:
		if runtime.GOARCH != "amd64" {
			return "true"
		}
		const setxattr = 188 // perl has no name for it
		return fmt.Sprintf("[ -f %s ] && ! [ -L %s ] && perl -e 'syscall(%d, $ARGV[0], \"user.t%d\", \"%d\", 1, 0)' %s", a, a, setxattr, s.IntN(2), s.IntN(5), a)
	}
	return fmt.Sprintf("cp -a -T %s %s", a, b)
}

func (s script) lines(n int) string {
	var lines []string
	for range n {
		lines = append(lines, s.operation())
	}
	return "exec 2>/dev/null\numask 022\n" + strings.Join(lines, "\n") + "\ntrue\n"
}

// TestAppliedIsWhatAPlainRunMakes runs random commands plainly in one tree and with
// a preview in another that is the same. Many cases:
//
//	HAFT_PREVIEW_RANDOM=1000 go test ./internal/harness/preview -run AppliedIs
func TestAppliedIsWhatAPlainRunMakes(t *testing.T) {
	b := newBench(t, nil)
	seed := rand.Uint64()
	if given, err := strconv.ParseUint(os.Getenv("HAFT_PREVIEW_SEED"), 10, 64); err == nil {
		seed = given
	}
	changed, copies := 0, 0
	for i := range rounds(t, "HAFT_PREVIEW_RANDOM", 25) {
		s := script{rand.New(rand.NewPCG(seed, uint64(i)))}
		dirs := [2]string{filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "p")}
		first := s.lines(20)
		for _, dir := range dirs {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			bash(t, dir, first)
		}
		if diff := cmp.Diff(tree(t, dirs[0]), tree(t, dirs[1])); diff != "" {
			t.Fatalf("the two trees differ from the beginning: %s", diff)
		}
		command := s.lines(1 + s.IntN(15))
		bash(t, dirs[0], command)
		settle()
		b.project = real(t, dirs[1])
		b.request.Dirs = []string{b.project}
		if err := b.shell.Move(b.project); err != nil {
			t.Fatal(err)
		}
		before := tree(t, b.project)
		r := b.mustRun(command)
		if diff := cmp.Diff(before, tree(t, b.project)); diff != "" {
			t.Fatalf("seed %d/%d: the preview of\n%s\nhas changed the tree: %s", seed, i, command, diff)
		}
		if r.Changed() {
			changed++
		}
		if r.Copied != "" {
			copies++
		}
		shown := b.shown(r)
		if err := r.Apply(t.Context(), b.session, "call-"+strconv.Itoa(i)); err != nil {
			t.Fatalf("seed %d/%d: %s\n%q\nshown %q", seed, i, command, err.Error(), b.paths(shown))
		}
		if diff := cmp.Diff(tree(t, dirs[0]), tree(t, b.project)); diff != "" {
			t.Fatalf("seed %d/%d: the tree with\n%s\n%s\nis not as after a plain run (-plain +applied): %s", seed, i, first, command, diff)
		}
		if err := r.Drop(); err != nil {
			t.Fatal(err)
		}
	}
	if changed == 0 {
		t.Error("no case changed anything")
	}
	t.Logf("%d cases changed something, %d of them in a copy", changed, copies)
}

func bash(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}
