package headless_test

import (
	"bytes"
	"testing"
)

// TestAPromptDoesNotOvertakeACommand sends one while the program is asked about what the command runs.
func TestAPromptDoesNotOvertakeACommand(t *testing.T) {
	s := newPyStage(t)
	s.write(".claude/commands/slow.md", "---\ndescription: Slow\n---\nSLOW !`touch made`\n")
	r := s.start([]string{"--setting-sources=project", "--permission-prompt-tool", "stdio"}, "", saysText("first"), saysText("second"))
	r.send("/slow", "")
	for len(r.results) < 2 {
		before := len(r.said)
		if !r.readOne() {
			t.Fatalf("haft ended after %v", r.results)
		}
		m := r.said[before]
		switch m["type"] {
		case "control_request":
			r.send("the next prompt", "")
			r.answer(m)
		case "result":
			r.results = append(r.results, m)
		}
	}
	r.want("one question", len(r.asked) == 1)
	requests := r.server.Requests()
	r.want("the command first", len(requests) == 2 && !bytes.Contains(requests[0].Body, []byte("the next prompt")) && bytes.Contains(requests[1].Body, []byte("SLOW")))
	r.end()
}
