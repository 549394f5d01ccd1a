package toolsearch_test

import (
	"fmt"
	"testing"

	"github.com/haftdev/haft/internal/tools/toolsearch"
	"github.com/haftdev/haft/tool"
)

// TestALoadedToolIsFoundAgain: the tool that fits is the answer, whether or not an earlier search loaded it.
func TestALoadedToolIsFoundAgain(t *testing.T) {
	tools := pool()
	before := search(t, tools, `{"query":"slack send message","max_results":1}`)
	after := search(t, tools.Reveal("mcp__slack__send_message"), `{"query":"slack send message","max_results":1}`)
	for _, r := range []tool.Result{before, after} {
		if len(r.Content) != 1 || r.Content[0].Text != "mcp__slack__send_message" {
			t.Errorf("found %+v", r.Content)
		}
	}
}

// A tool that every request describes is found, and the model is told that it needs no search.
func TestALoadedToolIsSaidToBeLoaded(t *testing.T) {
	shown := foreign("Copy", "copy duplicate a file", "Copies a file.")
	shown.Deferred, shown.Source = false, ""
	tools := tool.NewSet(nil, []tool.Tool{toolsearch.New(), shown}, []tool.Tool{foreign("WebFetch", "", "Fetches a page.")}, &tool.SetOptions{References: true})
	for query, want := range map[string]string{
		"select:Copy":     "Already loaded, so that you can call them without a search: Copy.",
		"duplicate":       "Already loaded, so that you can call them without a search: Copy.",
		"teleport":        `None of the 1 deferred tools matches "teleport": try other words, or select:NAME.`,
		"select:Nosuch":   `There is no tool named "Nosuch".`,
		"discover hidden": `None of the 1 deferred tools matches "discover hidden": try other words, or select:NAME.`,
	} {
		if r := search(t, tools, fmt.Sprintf(`{"query":%q}`, query)); r.Text() != want || r.Change != nil {
			t.Errorf("%s: %q, %+v", query, r.Text(), r.Change)
		}
	}
	r := search(t, tools, `{"query":"select:Copy,WebFetch"}`)
	if len(r.Content) != 1 || r.Content[0].Text != "WebFetch" || len(r.Messages) != 1 {
		t.Errorf("with another one: %+v", r)
	}
}
