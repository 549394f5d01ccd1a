package acp_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/golden"
)

// TestDialogues plays an editor. A file of testdata/dialogues has the scripted model's
// answers (model.json), files of the project (project/…), what the editor does (editor)
// and all that haft says to it (haft). Every line of haft is judged by the official
// schema. Lines of the editor are messages, in which $SESSION and $DIR are the newest
// session and the project, or one of
//
//	wait WHAT     reads on to a method, a kind of update with its status, or "answer ID"
//	answer JSON   answers the request that was waited for
func TestDialogues(t *testing.T) {
	golden.EachArchive(t, "testdata/dialogues/*.txtar", func(t *testing.T, a golden.Archive) {
		a.Check(t, "haft", play(t, a))
	})
}

func play(t *testing.T, archive golden.Archive) string {
	p := newPlayer(t, archive.Section("model.json"))
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "project/"); ok {
			p.write(name, string(f.Data))
		}
	}
	for line := range strings.Lines(archive.Section("editor")) {
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
		case verb == "wait":
			p.readTo(rest)
		case verb == "answer":
			p.answer(rest)
		default:
			p.send(line)
		}
	}
	p.close()
	return p.plain()
}

// left are members that differ from run to run, or belong to other tests.
var left = map[string]bool{
	"messageId": true, "availableCommands": true, "configOptions": true, "updatedAt": true, "rawOutput": true, "usage": true,
}

// plain is what haft said without those, a message a line.
func (p *player) plain() string {
	var out bytes.Buffer
	got := slices.DeleteFunc(slices.Clone(p.got), dependsOnTime)
	for i := 1; i < len(got); i++ {
		// That a call is being worked on, and what it asks the user or the editor, are sent by
		// two goroutines, so either may come first: here it is the question to the user, and
		// the news before the editor is asked for a file.
		before, after := got[i-1], got[i]
		if asksAbout(after) != "" && asksAbout(after) == beginsCall(before) || before["method"] == "fs/read_text_file" && beginsCall(after) != "" {
			got[i-1], got[i] = after, before
		}
	}
	for _, m := range got {
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(without(m)); err != nil {
			p.t.Fatal(err)
		}
	}
	text := strings.NewReplacer(p.dir, "$DIR", filepath.Dir(p.dir), "$HOME").Replace(out.String())
	return uuids.ReplaceAllString(text, "$$UUID")
}

// asksAbout is the call that a message asks the user about, beginsCall the one that it says is
// being worked on; "" if it does not.
func asksAbout(m map[string]any) string {
	params, _ := m["params"].(map[string]any)
	about := params
	switch m["method"] {
	case "session/request_permission":
		about, _ = params["toolCall"].(map[string]any)
	case "elicitation/create":
	default:
		return ""
	}
	id, _ := about["toolCallId"].(string)
	return id
}

func beginsCall(m map[string]any) string {
	params, _ := m["params"].(map[string]any)
	update, _ := params["update"].(map[string]any)
	if update["status"] != "in_progress" {
		return ""
	}
	id, _ := update["toolCallId"].(string)
	return id
}

// dependsOnTime reports whether a message shows how far things are: the output of a call, or
// what was used. How many of them there are depends on how fast the machine is.
func dependsOnTime(m map[string]any) bool {
	params, _ := m["params"].(map[string]any)
	update, _ := params["update"].(map[string]any)
	return update["sessionUpdate"] == "usage_update" || update["status"] == "in_progress" && update["content"] != nil
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if left[k] {
				delete(v, k)
			} else {
				v[k] = without(v[k])
			}
		}
	case []any:
		for i := range v {
			v[i] = without(v[i])
		}
	}
	return v
}
