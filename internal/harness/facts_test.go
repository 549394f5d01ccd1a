package harness_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// TestACommandIsAnalyzedOnce counts the analyses of a Bash call from its arrival to its result: the
// scheduler, the verdict, the checkpoint, the preview and the run share one.
func TestACommandIsAnalyzedOnce(t *testing.T) {
	for _, c := range []struct {
		name, command string
		hook          bool
		want          int
	}{
		{"a command that only reads", "cat a.txt", false, 1},
		{"one that is rendered in other words", "cat   'a.txt'", false, 1},
		{"one that is asked about", "python3 -c 'open(\"b.txt\", \"w\")'", false, 1},
		{"an edit by sed", "sed -i s/a/b/ a.txt", false, 1},
		{"one that a hook changes", "cat a.txt", true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			input, err := json.Marshal(map[string]string{"command": c.command})
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, script.Turn{Blocks: []script.Block{call("Bash", string(input))}}, script.Turn{Blocks: []script.Block{{Text: "Done."}}})
			r.write("a.txt", "a\n")
			if c.hook {
				r.userSettings(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\",\"updatedInput\":{\"command\":\"head a.txt\"}}}'"}]}]}}`)
			}
			var mu sync.Mutex
			var analyzed []string
			conversation := r.talk(harness.Options{Analyzed: func(command string) {
				mu.Lock()
				defer mu.Unlock()
				analyzed = append(analyzed, command)
			}}, harness.TalkOptions{})
			r.say(conversation, "run it")
			if len(analyzed) != c.want {
				t.Errorf("%d analyses, want %d: %q", len(analyzed), c.want, analyzed)
			}
			r.close(conversation)
		})
	}
}
