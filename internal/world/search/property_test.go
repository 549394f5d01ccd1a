package search

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/world/search/rgtest"
)

// goRoot is the Go tree, which every machine that tests has.
func goRoot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no go command: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// sampleTree copies files of the Go tree into a directory, with some that are not
// ASCII.
func sampleTree(t testing.TB, r *rand.Rand, files int) (dir string, lines []string) {
	t.Helper()
	var all []string
	root := goRoot(t)
	filepath.WalkDir(filepath.Join(root, "src"), func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, p)
		}
		return nil
	})
	if len(all) < files {
		t.Skipf("no Go source at %s", root)
	}
	dir = filepath.Join(t.TempDir(), "tree")
	for i := range files {
		text, err := os.ReadFile(all[r.IntN(len(all))])
		if err != nil || len(text) > 64<<10 {
			continue
		}
		writeFile(t, filepath.Join(dir, fmt.Sprintf("d%d", i%17), fmt.Sprintf("f%d.txt", i)), string(text))
		if !strings.Contains(string(text), "\x00") && !strings.Contains(string(text), "\r") {
			lines = append(lines, strings.Split(string(text), "\n")...)
		}
	}
	for i, text := range []string{"日本語のテキスト needle\nфункция поиска\n", "naïve café Élan\nstraße ſtop \u212Aelvin\n", "x\xff\xfe invalid\n"} {
		writeFile(t, filepath.Join(dir, "other", fmt.Sprintf("u%d.txt", i)), text)
		lines = append(lines, strings.Split(text, "\n")...)
	}
	return dir, lines
}

var wordRun = regexp.MustCompile(`\w+`)

// derive makes a pattern from a line, in the ways people do.
func derive(r *rand.Rand, lines []string) string {
	pick := func() string {
		for {
			l := strings.TrimSpace(strings.ToValidUTF8(lines[r.IntN(len(lines))], ""))
			if len(l) > 3 {
				return l
			}
		}
	}
	piece := func() string {
		runes := []rune(pick())
		from := r.IntN(len(runes))
		return string(runes[from:min(len(runes), from+1+r.IntN(14))])
	}
	word := func() string {
		if w := wordRun.FindAllString(pick(), -1); len(w) > 0 {
			return w[r.IntN(len(w))]
		}
		return "func"
	}
	q := regexp.QuoteMeta
	switch r.IntN(14) {
	case 0, 1, 2:
		return q(piece())
	case 3:
		return "^" + `\s*` + q(pick()[:3])
	case 4:
		return q(piece()) + "$"
	case 5:
		return `\b` + q(word()) + `\b`
	case 6:
		return q(word()) + "|" + q(word()) + "|" + q(piece())
	case 7:
		return q(word()) + ".*" + q(word())
	case 8:
		return wordRun.ReplaceAllString(q(piece()), `\w+`)
	case 9:
		return q(word()) + `\s+` + q(word())
	case 10:
		return `[A-Z]\w+` + q(piece())
	case 11:
		return "(?:" + q(word()) + "|" + q(piece()) + `)\W`
	case 12:
		return []string{`\d{3,}`, `[^\x00-\x7F]+`, `\w{20,}`, `^\s*$`, `\p{Lu}{4}`, `[[:punct:]]{4}`, `\S+\(\)`, `0x[0-9a-f]+\b`}[r.IntN(8)]
	default:
		return `(?i)` + q(word()) + `\w*`
	}
}

// TestPropertyAgainstRipgrep asks patterns derived from the text. It runs 25 by
// default; HAFT_PROPERTY_ROUNDS sets more.
func TestPropertyAgainstRipgrep(t *testing.T) {
	rg := rgtest.Need(t)
	rounds := 25
	if v, err := strconv.Atoi(os.Getenv("HAFT_PROPERTY_ROUNDS")); err == nil {
		rounds = v
	}
	r := rand.New(rand.NewPCG(5, uint64(rounds)))
	dir, lines := sampleTree(t, r, 300)
	all := layers(t)
	for _, s := range all {
		answer(t, s, Query{Dir: dir, Pattern: "first"})
		s.WaitIndexed()
	}
	for range rounds {
		q := Query{Dir: dir, Pattern: derive(r, lines), IgnoreCase: r.IntN(4) == 0, Mode: Mode(r.IntN(3))}
		if r.IntN(5) == 0 {
			q.Multiline = true
			q.Mode = Files
		}
		want := drop(runRg(t, rg, dir, rgArgs(q)...))
		for name, s := range all {
			if d := cmp.Diff(want, drop(answer(t, s, q))); d != "" {
				t.Fatalf("%s, %+v (-rg +ours):\n%s", name, q, d)
			}
		}
	}
}

// drop leaves aside lines that we cut or repair on purpose.
func drop(lines []string) []string {
	var out []string
	for _, l := range lines {
		if len(l) < maxColumns && !strings.Contains(strings.ToValidUTF8(l, "\uFFFD"), "\uFFFD") && !strings.Contains(l, "\r") {
			out = append(out, l)
		}
	}
	return out
}
