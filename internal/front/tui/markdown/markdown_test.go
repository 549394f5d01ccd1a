package markdown_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/tui/markdown"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/test/golden"
)

// TestRender holds how texts look. A golden file has the text, a line ----, and
// the lines it becomes, 40 columns wide.
func TestRender(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(raw), "\n----\n")
		got := strings.Join(render(text, 40, style.Palette{}), "\n") + "\n"
		golden.Check(t, file, text+"\n----\n"+got)
	}
}

func render(text string, width int, p style.Palette) []string {
	s := markdown.New(width, p)
	s.Write(text)
	return s.Close()
}

func TestColours(t *testing.T) {
	got := render("a **bold `x`** and *it* [l](u)", 60, style.Of(style.Dark))
	want := []string{"a \x1b[1mbold \x1b[0m\x1b[1;36mx\x1b[0m and \x1b[3mit\x1b[0m \x1b[4;34ml\x1b[0m\x1b[2m (u)\x1b[0m"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNothingMovesTheCursor(t *testing.T) {
	got := strings.Join(render("a\x1b[2Jb\u202ec\rd\n```\n\x1b]0;x\x07\n```", 60, style.Palette{}), "\n")
	if strings.ContainsAny(got, "\x1b\x07\r\u202e") {
		t.Errorf("%q", got)
	}
}

// FuzzStream holds that it does not matter how a text arrives, that lines are no
// wider than asked, and that the tail never fails.
func FuzzStream(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.md")
	for _, file := range files {
		raw, _ := os.ReadFile(file)
		text, _, _ := strings.Cut(string(raw), "\n----\n")
		f.Add(text, 7)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if cut < 0 || cut > len(text) {
			cut = len(text) / 2
		}
		const width = 40
		whole := render(text, width, style.Palette{})
		s := markdown.New(width, style.Palette{})
		s.Write(text[:cut])
		s.Tail()
		got := s.Take()
		s.Write(text[cut:])
		if tail, rest := append(append([]string(nil), got...), s.Tail()...), s; rest != nil {
			_ = tail
		}
		got = append(got, s.Close()...)
		if d := cmp.Diff(whole, got); d != "" {
			t.Errorf("cut at %d (-whole +cut):\n%s", cut, d)
		}
		if strings.Contains(text, "```") || strings.Contains(text, "~~~") || strings.Contains(text, "|") {
			return // code and odd tables are not wrapped
		}
		for _, l := range whole {
			if ansi.StringWidth(l) > width+2 {
				t.Errorf("%d columns: %q", ansi.StringWidth(l), l)
			}
		}
	})
}

// BenchmarkStream is a long answer in pieces of four bytes with a look at the tail
// at every hundredth, as a screen takes it.
func BenchmarkStream(b *testing.B) {
	text := strings.Repeat("Some *words* about `code` and a [link](http://x).\n\n- one\n- two\n\n```go\nfunc main() { println(\"hi\") } // x\n```\n\n", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s := markdown.New(80, style.Of(style.Dark))
		for i := 0; i < len(text); i += 4 {
			s.Write(text[i:min(i+4, len(text))])
			if i%400 == 0 {
				s.Take()
				s.Tail()
			}
		}
		s.Close()
	}
}

// TestAddressesAreLinks: what terminals make of them goes to the address and nowhere else, and
// without colours there are none.
func TestAddressesAreLinks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an address", "see https://go.dev/doc.", "see <https://go.dev/doc|https://go.dev/doc.>"},
		{"a name", "the [guide](https://go.dev)", "the <https://go.dev|guide> <https://go.dev|(https://go.dev)>"},
		{"no address of the web", "the [file](a.md) and file:///etc", "the guide"},
		{"an escape", "https://x/\x1b\\\\evil", ""},
	} {
		for _, p := range []style.Palette{style.Of(style.Dark), {}} {
			s := markdown.New(80, p)
			s.Write(c.text + "\n")
			got := strings.Join(s.Close(), "\n")
			links := regexp.MustCompile(`\x1b\]8;;([^\x1b]+)\x1b\\(.*?)\x1b\]8;;\x1b\\`).FindAllStringSubmatch(got, -1)
			var list []string
			for _, l := range links {
				list = append(list, "<"+l[1]+"|"+strings.TrimSpace(ansi.Strip(l[2]))+">")
			}
			want := regexp.MustCompile(`<[^>]*>`).FindAllString(c.want, -1)
			if p.Link == "" {
				want = nil
			}
			if d := cmp.Diff(want, list); d != "" {
				t.Errorf("%s: %s in %q", c.name, d, got)
			}
		}
	}
}
