package page_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/page"
)

// The page's own script stays small: at most 80 KB besides comments and indentation.
func TestScriptIsSmall(t *testing.T) {
	names, err := fs.Glob(page.Files, "*.js")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	size := 0
	for _, name := range names {
		for line := range strings.Lines(source(t, name)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				size += len(line) + 1
			}
		}
	}
	t.Logf("%d bytes", size)
	if size > 80<<10 {
		t.Errorf("the script has %d bytes", size)
	}
}

func source(t *testing.T, name string) string {
	t.Helper()
	raw, err := fs.ReadFile(page.Files, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// No script reads text as markup or as code, and the document has neither inline script nor
// inline style, so that its policy can refuse them.
func TestNothingBecomesMarkup(t *testing.T) {
	names, err := fs.Glob(page.Files, "*.js")
	if err != nil {
		t.Fatal(err)
	}
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function|DOMParser|createContextualFragment|setAttribute\("on|setAttribute\("style`)
	for _, name := range names {
		if found := markup.FindString(source(t, name)); found != "" {
			t.Errorf("%s has %s", name, found)
		}
		if !strings.Contains(source(t, "index.html"), `"/`+name+`"`) {
			t.Errorf("index.html does not load %s at once", name)
		}
	}
	if found := regexp.MustCompile(`<script(?:[^>]*[^c])?>[^<]|<style|\son\w+=|style=`).FindString(source(t, "index.html")); found != "" {
		t.Errorf("index.html has %q", found)
	}
}
