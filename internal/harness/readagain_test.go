package harness_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// The lines of a file come once, and again if they have changed, if the model wants them, or if it
// cannot see them any more.
func TestLinesThatAreSeenAreNotSentAgain(t *testing.T) {
	r := newRig(t)
	text := strings.Repeat("a line of the file\n", 100)
	file, copied := r.put("a.txt", text), r.put("b.txt", text)
	read := func(path, more string) script.Turn {
		return script.Turn{Blocks: []script.Block{call("Read", fmt.Sprintf(`{"file_path":%q%s}`, path, more))}}
	}
	turns := []script.Turn{
		read(file, ""), read(file, ""), read(file, `,"limit":50`), read(file, `,"offset":1,"limit":50`), read(file, `,"force":true`), read(copied, ""),
		script.Turn{Blocks: []script.Block{call("Edit", fmt.Sprintf(`{"file_path":%q,"old_string":"line","new_string":"word","replace_all":true}`, file))}},
		read(file, ""), read(file, ""), says("done"),
		says("<summary>short</summary>"), read(file, ""), says("done"),
		read(file, ""), says("done"),
	}
	var asked atomic.Int32
	r.serve(func(*script.Request) script.Turn { return turns[min(int(asked.Add(1)), len(turns))-1] })
	c := r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{})
	id := c.Agent.Session()
	var results []string
	say := func(c *harness.Conversation) {
		events, _ := r.say(c, "go")
		for _, ev := range events {
			if ev, ok := ev.(agent.Returned); ok && ev.Outcome.Tool == "Read" {
				results = append(results, ev.Outcome.Result.Text())
			}
		}
	}
	say(c)
	c.Agent.Compact("")
	say(c)
	r.close(c)
	again := r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{Resume: id})
	defer again.Close(t.Context())
	say(again)
	unchanged := func(lines int, calls string) string {
		return fmt.Sprintf("Lines 1-%d of %s are unchanged since you read them %s ago. To see them again, set force.", lines, file, calls)
	}
	for i, want := range []string{"", unchanged(100, "1 call"), "", unchanged(50, "1 call"), "", "", "", unchanged(100, "1 call"), "", ""} {
		if i >= len(results) || want != "" && results[i] != want || want == "" && !strings.HasPrefix(results[i], "1\ta ") {
			t.Fatalf("result %d of %d: %.200q, want %q", i, len(results), results[min(i, len(results)-1)], want)
		}
	}
}
