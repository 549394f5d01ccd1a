package page_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/haftdev/haft/internal/front/page"
)

// The page's own script stays small: it has at most 108 KB, a third of it when it is sent.
func TestScriptIsSmall(t *testing.T) {
	raw := built(t, page.Files, "app.js")
	sources := 0
	for _, name := range scripts(t) {
		sources += len(source(t, name))
	}
	t.Logf("%d bytes, from modules of %d", len(raw), sources)
	if len(raw) > 108<<10 || len(raw) < sources/2 {
		t.Errorf("the script has %d bytes", len(raw))
	}
}

// scripts are the modules of the page.
func scripts(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.js")
	if err != nil || len(names) < 10 {
		t.Fatalf("scripts: %v, %v", names, err)
	}
	return names
}

func source(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// No script reads text as markup or as code, and the document has neither inline script nor
// inline style, so that its policy can refuse them.
func TestNothingBecomesMarkup(t *testing.T) {
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function|DOMParser|createContextualFragment|setAttribute\("on|setAttribute\("style`)
	defined := map[string]string{}
	for _, name := range scripts(t) {
		text := source(t, name)
		if found := markup.FindString(text); found != "" {
			t.Errorf("%s has %s", name, found)
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:export )?(?:async )?(?:function|class|const|let) (\w+)`).FindAllStringSubmatch(text, -1) {
			if defined[m[1]] != "" {
				t.Errorf("%s and %s define %s, and share a scope", defined[m[1]], name, m[1])
			}
			defined[m[1]] = name
		}
	}
	if found := regexp.MustCompile(`<script(?:[^>]*[^c])?>[^<]|<style|\son\w+=|style=`).FindString(source(t, "index.html")); found != "" {
		t.Errorf("index.html has %q", found)
	}
}
