//go:build unix

package page_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// The time for a text grows with its length, whatever is in it: 20 texts that make readers look
// for an end again and again, each as long as is read as Markdown and as a megabyte.
func TestMarkdownIsLinear(t *testing.T) {
	t.Parallel()
	h := httptest.NewServer(http.FileServerFS(os.DirFS(".")))
	t.Cleanup(h.Close)
	p := openBrowser(t).tab(800, 600)
	p.open(h.URL + "/icon.svg") // any document of the server
	p.open(h.URL + "/index.html")
	for name, text := range map[string]string{
		"blanks behind a heading": "# a" + strings.Repeat(" ", 60_000), "signs behind a heading": "# " + strings.Repeat("#", 60_000) + "a",
		"strong": "**a ", "strong in words": "__a ", "emphasis": "*a ", "emphasis in words": "_a ", "strike": "~~a ", "both": "**a *b ", "code": "`a``b", "backquotes": "`",
		"brackets": "[", "links": "[a](", "pictures": "![", "addresses": "http://", "quotes": "> ", "lists": "- a\n", "empty lists": "-  \n\n", "cells": "|a|\n|-|\n", "blanks below a table": "|a|\n" + strings.Repeat(" ", 60_000) + "x", "fences": "```\n",
	} {
		var took []float64
		p.eval(`(async () => {
			const { markdown } = await import("/markdown.js"), text = `+quoted(text)+`, took = [];
			for (const size of [59_000, 1 << 20]) {
				const long = text.repeat(Math.ceil(size / text.length)).slice(0, size);
				let best = 1e9;
				for (let n = 0; n < 3; n++) {
					const from = performance.now();
					document.createElement("div").append(markdown(long));
					best = Math.min(best, performance.now() - from);
				}
				took.push(best);
			}
			return took;
		})()`, &took)
		t.Logf("%s: %.0f ms for 59 KB, %.0f ms for 1 MB", name, took[0], took[1])
		for _, ms := range took {
			if ms > 200 && !raceDetector {
				t.Errorf("%s: %.0f ms", name, ms)
			}
		}
	}
}
