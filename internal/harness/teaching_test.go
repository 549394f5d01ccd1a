package harness_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// TestWhatModelsSendIsUnderstoodOrExplained sends what models are seen to send: names of other systems' tools and fields, words
// for values, paths that are relative. Where only one thing can be meant it is done and disclosed; else the error says what is
// wrong, and invents nothing.
func TestWhatModelsSendIsUnderstoodOrExplained(t *testing.T) {
	for _, c := range []struct {
		name, tool, input string
		want, not         []string // in what the model reads after the call
	}{
		{"Bash cmd", "Bash", `{"cmd":"echo so"}`, []string{"so", "the name cmd was read as the name command"}, nil},
		{"Read path", "Read", `{"path":"DIR/f.txt"}`, []string{"the name path was read as the name file_path"}, nil},
		{"Read file", "Read", `{"file":"DIR/f.txt"}`, []string{"the name file was read as the name file_path"}, nil},
		{"a relative path", "Read", `{"file_path":"sub/g.txt"}`, []string{"deep", "sub/g.txt"}, nil},
		{"Write text", "Write", `{"file_path":"DIR/new.txt","text":"x"}`, []string{"the name text was read as the name content"}, nil},
		{"a number as text", "Read", `{"file_path":"DIR/f.txt","limit":"1"}`, []string{"was read as 1"}, []string{"2\ttwo"}},
		{"old_string that is not there", "Edit", `{"file_path":"DIR/f.txt","old_string":"nine","new_string":"9"}`, []string{"not found"}, nil},
		{"insert without a cell", "NotebookEdit", `{"notebook_path":"DIR/n.ipynb","new_source":"FIRST","edit_mode":"insert","cell_type":"code"}`, []string{"FIRST"}, []string{"cell_id"}},
		{"WebSearch where there is none", "WebSearch", `{"query":"go generics"}`, []string{"webSearch.endpoint"}, nil},
		{"another word for a status", "TaskUpdate", `{"taskId":"1","status":"done"}`, []string{"completed"}, []string{"pending"}},
		{"a tool of another system", "LS", `{"path":"DIR"}`, []string{"Glob"}, nil},
		{"a mode for an agent", "Agent", `{"description":"x","prompt":"x","mode":"acceptAll","run_in_background":false}`, []string{"mode"}, []string{`"model":"acceptAll"`}},
		{"a background command may take longer", "Bash", `{"command":"true","timeout":1800000,"run_in_background":true}`, []string{"background"}, []string{"set run_in_background"}},
		{"ToolSearch clamps", "ToolSearch", `{"query":"task","max_results":1000}`, []string{"1000 was read as"}, []string{"InputValidationError"}},
		{"a field of the reference's", "AskUserQuestion", `{"questions":[],"metadata":{}}`, nil, []string{"metadata: unknown"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.put("f.txt", "one\ntwo\n")
			r.put("sub/g.txt", "deep\n")
			input := strings.ReplaceAll(c.input, "DIR", filepath.ToSlash(r.dir))
			r.put("n.ipynb", `{"cells":[{"cell_type":"code","id":"a","metadata":{},"outputs":[],"source":["1"],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`)
			r = r.with(
				script.Turn{Blocks: []script.Block{call("Read", in("file_path", filepath.Join(r.dir, "f.txt"))), call("Read", in("file_path", filepath.Join(r.dir, "n.ipynb")))}},
				script.Turn{Blocks: []script.Block{call(c.tool, input)}}, says("done"), says("done"),
			)
			talk := r.talk(harness.Options{Mode: "acceptEdits", Allowed: []string{"Bash"}}, harness.TalkOptions{})
			defer talk.Close(t.Context())
			r.say(talk, "do it")
			requests := r.server.Requests()
			heard := lastUser(t, requests[2].Body)
			for _, want := range c.want {
				if !strings.Contains(heard, want) {
					t.Errorf("it does not say %q:\n%s", want, heard)
				}
			}
			for _, not := range c.not {
				if strings.Contains(heard, not) {
					t.Errorf("it says %q:\n%s", not, heard)
				}
			}
		})
	}
}

// TestTheModelsOwnCommandIsNotAStranger: a file that the model changed by a command is not said to be changed by another.
func TestTheModelsOwnCommandIsNotAStranger(t *testing.T) {
	r := newRig(t)
	path := r.put("f.txt", "one\ntwo\nthree\n")
	r = r.with(
		script.Turn{Blocks: []script.Block{call("Read", in("file_path", path))}},
		script.Turn{Blocks: []script.Block{call("Bash", `{"command":"sed -i s/three/3/ f.txt"}`)}},
		script.Turn{Blocks: []script.Block{call("Edit", in("file_path", path, "old_string", "one", "new_string", "1"))}},
		says("done"),
	)
	c := r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "edit")
	heard := lastUser(t, r.server.Requests()[3].Body)
	if strings.Contains(heard, "omebody else") || strings.Contains(heard, "nother program") {
		t.Errorf("the model's own change is a stranger's:\n%s", heard)
	}
	if !strings.Contains(heard, "1") || strings.Contains(heard, "is_error") {
		t.Errorf("the edit was not made:\n%s", heard)
	}
}

// lastUser is the last message of a request, as text.
func lastUser(t *testing.T, body []byte) string {
	t.Helper()
	var req struct {
		Messages []struct{ Content any }
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(req.Messages[len(req.Messages)-1].Content)
}

// TestTheSimpleSetOfTools: the variable of the environment does what --bare does, unless tools are named.
func TestTheSimpleSetOfTools(t *testing.T) {
	for value, simple := range map[string]bool{"1": true, "true": true, "0": false, "": false} {
		r := newRig(t)
		t.Setenv("CLAUDE_CODE_SIMPLE", value)
		c := r.talk(harness.Options{}, harness.TalkOptions{})
		if got := len(c.Agent.Tools().All()) == 3; got != simple {
			t.Errorf("CLAUDE_CODE_SIMPLE=%q leaves %d tools", value, len(c.Agent.Tools().All()))
		}
		c.Close(t.Context())
	}
}
