package markdown_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/world/webpage/markdown"
)

// TestPages reads each page in testdata and compares it with the Markdown beside it.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("testdata/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	base, _ := url.Parse("https://example.com/docs/index.html")
	for _, name := range pages {
		t.Run(filepath.Base(name), func(t *testing.T) {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p, err := markdown.Read(string(source), &markdown.Options{Base: base})
			if err != nil {
				t.Fatal(err)
			}
			got := "Title: " + p.Title + "\n\n" + p.Text + "\n"
			golden.Check(t, strings.TrimSuffix(name, ".html")+".md", got)
		})
	}
}

func TestDeepNestingIsAnError(t *testing.T) {
	if _, err := markdown.Read(strings.Repeat("<div>", 200_000), nil); err == nil {
		t.Error("200,000 nested elements were read")
	}
}

func TestTheTextEndsWhereItMust(t *testing.T) {
	p, err := markdown.Read(strings.Repeat("<p>é", 1000), &markdown.Options{Most: 100})
	if err != nil || !p.Cut || len(p.Text) > 100 || !utf8.ValidString(p.Text) {
		t.Errorf("%d bytes, cut %t, %v", len(p.Text), p.Cut, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"docs", "layout", "frame"} {
		source, err := os.ReadFile("testdata/" + name + ".html")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	f.Add("<li><p></p><ul><li></ul><table><td><td><pre>\n`")
	f.Fuzz(func(t *testing.T, source string) {
		if !utf8.ValidString(source) {
			t.Skip()
		}
		p, err := markdown.Read(source, &markdown.Options{Most: 1 << 20})
		if err != nil {
			return
		}
		if len(p.Text) > 1<<20 || !utf8.ValidString(p.Text) {
			t.Errorf("%d bytes, valid %t", len(p.Text), utf8.ValidString(p.Text))
		}
	})
}
