package harness_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// A formatter that runs after every write never stands in the way of the next one.
func TestOnesOwnFormatterIsNobodyElse(t *testing.T) {
	r := newRig(t)
	path := filepath.Join(r.dir, "a.txt")
	write := func(text string) script.Block {
		return call("Write", fmt.Sprintf(`{"file_path":%q,"content":%q}`, path, text))
	}
	edit := func(from, to string) script.Block {
		return call("Edit", fmt.Sprintf(`{"file_path":%q,"old_string":%q,"new_string":%q}`, path, from, to))
	}
	r = r.with(
		script.Turn{Blocks: []script.Block{write("one  two\nthree\n")}},
		script.Turn{Blocks: []script.Block{write("one  two\nthree  four\n")}},
		script.Turn{Blocks: []script.Block{edit("three four", "three  five")}},
		script.Turn{Blocks: []script.Block{edit("one two", "one  six")}},
		script.Turn{Blocks: []script.Block{{Text: "done"}}},
	)
	hooks, err := json.Marshal(map[string]any{"hooks": map[string]any{"PostToolUse": []any{map[string]any{
		"matcher": "Write|Edit", "hooks": []any{map[string]any{"type": "command", "command": "sed -i 's/  */ /g' " + path}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	c := r.talk(harness.Options{Settings: string(hooks), Mode: "acceptEdits"}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, _ := r.say(c, "write")
	results := 0
	for _, ev := range events {
		ret, ok := ev.(agent.Returned)
		if !ok {
			continue
		}
		results++
		text := ret.Outcome.Result.Text()
		if ret.Outcome.IsError() || strings.Contains(text, "another program") {
			t.Errorf("call %d: %s", results, text)
		}
		if !strings.Contains(text, "A hook has changed "+path) || !strings.Contains(text, "\n+one ") && !strings.Contains(text, "\n+three ") {
			t.Errorf("call %d does not tell what the hook changed:\n%s", results, text)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "one six\nthree five\n" || results != 4 {
		t.Errorf("after %d calls the file is %q, %v", results, got, err)
	}
}
