//go:build linux

package command_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"

	"github.com/haftdev/haft/fleet/internal/journal"
)

// A tally is what the journals of runs and the effects of their commands add up to.
type tally struct {
	calls, unknown, never, effects int
}

// check reads the journal of a run, entry by entry, and returns which marks its calls made and
// how each is told to have ended.
func (f *fleet) check(id string, prompts []string, sum *tally, told map[string]string) {
	f.t.Helper()
	text, err := journal.New(f.conn, "default", nil).Text(f.t.Context(), id, "")
	if err != nil {
		f.t.Errorf("run %s: %v", id, err)
		return
	}
	said, results, uses, last := map[string]int{}, map[string]string{}, map[string]string{}, ""
	for raw := range bytes.Lines(text) {
		var l struct {
			UUID, Type string
			Parent     *string `json:"parentUuid"`
			Message    struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal(raw, &l); err != nil {
			f.t.Errorf("run %s has the line %.80q", id, raw)
			continue
		}
		if l.UUID == "" || l.Type != "user" && l.Type != "assistant" {
			continue // an answer's end has no name
		}
		if said[l.UUID]++; l.Parent != nil && *l.Parent != last {
			f.t.Errorf("run %s: an entry follows %s and not %s", id, *l.Parent, last)
		}
		last = l.UUID
		var blocks []struct {
			Type, ID string
			UseID    string `json:"tool_use_id"`
			Input    struct{ Command string }
			Content  json.RawMessage
		}
		_ = json.Unmarshal(l.Message.Content, &blocks) // a prompt may be a text
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				uses[b.ID] = markOf(b.Input.Command)
			case "tool_result":
				if _, again := results[b.UseID]; again {
					f.t.Errorf("run %s: the call %s has two results", id, b.UseID)
				}
				results[b.UseID] = string(b.Content)
			}
		}
	}
	for uuid, n := range said {
		if n != 1 {
			f.t.Errorf("run %s: the entry %s is there %d times", id, uuid, n)
		}
	}
	for _, p := range prompts {
		if said[p] != 1 {
			f.t.Errorf("run %s: the prompt %s is there %d times", id, p, said[p])
		}
	}
	for use, mark := range uses {
		result, ok := results[use]
		if !ok {
			f.t.Errorf("run %s: the call %s has no result", id, use)
		}
		sum.calls++
		told[mark] = result
	}
}

func markOf(command string) string {
	_, mark, _ := strings.Cut(command, "mark-")
	mark, _, _ = strings.Cut(mark, " ")
	return mark
}

// checkEffects compares what commands did with what is told of them: a call that is told to
// have run has its effect once, one that is told not to have run has none, and of one whose
// outcome is unknown nobody knows.
func (f *fleet) checkEffects(sum *tally, told map[string]string) {
	f.t.Helper()
	raw, err := os.ReadFile(f.effects)
	if err != nil {
		f.t.Fatal(err)
	}
	done := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		done[strings.TrimSpace(strings.TrimPrefix(line, "mark-"))]++
		sum.effects++
	}
	for mark, n := range done {
		if _, ok := told[mark]; !ok || n != 1 {
			f.t.Errorf("the effect %s happened %d times; the journal has its call: %t", mark, n, ok)
		}
	}
	for mark, result := range told {
		switch {
		case strings.Contains(result, "outcome is unknown"):
			sum.unknown++
		case strings.Contains(result, "never ran"):
			sum.never++
			if done[mark] != 0 {
				f.t.Errorf("the call %s is told not to have run, and did", mark)
			}
		case done[mark] != 1:
			f.t.Errorf("the call %s is told as %.80s, and has %d effects", mark, result, done[mark])
		}
	}
}
