package toolsearch_test

import (
	"testing"

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
