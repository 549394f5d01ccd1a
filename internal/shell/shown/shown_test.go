package shown_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/shell/shown"
)

func TestFind(t *testing.T) {
	for command, want := range map[string]string{
		"cat a.go":                              "a.go 1 -1",
		"cat a.go b.go":                         "a.go 1 -1, b.go 1 -1",
		"cat 'a b.go' && sed -n '3,7p' c.go":    "a b.go 1 -1, c.go 3 7",
		"cd x; head -n 20 a":                    "a 1 20",
		"head -20 a":                            "a 1 20",
		"head a":                                "a 1 10",
		"tail -n 5 a":                           "a -5 -1",
		"sed -n '9,$p' a":                       "a 9 -1",
		"sed -n 4p a":                           "a 4 4",
		"cat > a <<'EOF'\nx $y\nEOF":            `a 1 -1 "x $y\n"`,
		"cat <<EOF > a\nx\ny\nEOF\ncat b":       `a 1 -1 "x\ny\n", b 1 -1`,
		"tee a <<'EOF'\nx\nEOF":                 `a 1 -1 "x\n"`,
		"cat > a <<EOF\n$HOME\nEOF":             "",
		"cat >> a <<'EOF'\nx\nEOF":              "",
		"cat a | head":                          "",
		"cat -n a":                              "",
		"cat *.go":                              "",
		`cat "$f"`:                              "",
		"(cat a)":                               "",
		"sed -n 's/a/b/p' a":                    "",
		"head -c 5 a":                           "",
		"head a b":                              "",
		"if true; then cat a; fi":               "",
		"cat a > b":                             "",
		"grep x a":                              "",
		"cat 'unclosed":                         "",
		"cat " + strings.Repeat("x", 1_000_000): "",
	} {
		var got []string
		for _, p := range shown.Find(command) {
			s := fmt.Sprint(p.Path, " ", p.From, " ", p.To)
			if p.Written != nil {
				s += fmt.Sprintf(" %q", *p.Written)
			}
			got = append(got, s)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%.80q: %q, want %q", command, got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("cat a; sed -n 1,2p b <<X\nX")
	f.Fuzz(func(_ *testing.T, command string) { shown.Find(command) })
}
