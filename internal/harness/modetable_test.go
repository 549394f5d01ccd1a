package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// kindsOfCalls are rows of the table. Their paths are relative: an explanation must find the same
// files as the call.
var kindsOfCalls = []struct{ what, tool, input string }{
	{"reading a file of the project", "Read", `{"file_path":"a.txt"}`},
	{"reading a secret, such as `.env`", "Read", `{"file_path":".env"}`},
	{"reading a file outside the project", "Read", `{"file_path":"../beside/b.txt"}`},
	{"editing a file of the project", "Write", `{"file_path":"new.txt","content":"x"}`},
	{"editing a file outside the project", "Write", `{"file_path":"../beside/new.txt","content":"x"}`},
	{"editing a protected file, such as `.git/config`", "Write", `{"file_path":".git/config","content":"x"}`},
	{"a command that only reads the project", "Bash", `{"command":"ls -l a.txt"}`},
	{"a command that only edits files of the project, such as `touch`", "Bash", `{"command":"touch made.txt"}`},
	{"any other command, such as a script", "Bash", `{"command":"./gen.sh"}`},
	{"a tool of a program or of an MCP server", "Own", `{}`},
	{"such a tool that only reads files of the project", "OwnReader", `{}`},
	{"starting an agent, whose calls are judged one by one", "Agent", `{"description":"d","prompt":"CHILD"}`},
	{"a question to you", "AskUserQuestion", `{"questions":[{"question":"Which?","header":"Q","multiSelect":false,"options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]}`},
}

// Docs have a table of what happens to each kind of call in each mode. Here every one is made, with a
// classifier that is not sure and a user who says no; and what haft permissions explain says beforehand
// is the same. Previews are off, so that the table is that of every system.
func TestTheTableOfModes(t *testing.T) {
	modes := []permission.Mode{permission.Default, permission.AcceptEdits, permission.Plan, permission.Auto, permission.DontAsk, permission.Bypass}
	t.Setenv("IS_SANDBOX", "1") // tests may run as root
	cells := map[permission.Mode][]string{}
	for _, mode := range modes {
		cells[mode] = happens(t, mode)
	}
	var table strings.Builder
	table.WriteString("| call |")
	for _, mode := range modes {
		fmt.Fprintf(&table, " `%s` |", mode)
	}
	table.WriteString("\n|" + strings.Repeat("---|", len(modes)+1) + "\n")
	for i, kind := range kindsOfCalls {
		fmt.Fprintf(&table, "| %s |", kind.what)
		for _, mode := range modes {
			fmt.Fprintf(&table, " %s |", cells[mode][i])
		}
		table.WriteByte('\n')
	}
	const path = "../../docs/permissions.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(doc, []byte(table.String())) {
		return
	}
	if !golden.Updating() {
		t.Fatalf("%s does not have this table; rewrite it with -update:\n%s", path, &table)
	}
	before, rest, found := strings.Cut(string(doc), "| call |")
	_, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatalf("%s has no table that begins with | call |", path)
	}
	if err := os.WriteFile(path, []byte(before+table.String()+"\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// happens makes all calls in a mode and says what became of each.
func happens(t *testing.T, mode permission.Mode) (said []string) {
	r := newRig(t)
	r.dir = filepath.Join(r.dir, "project")
	for name, text := range map[string]string{"a.txt": "a\n", ".env": "KEY=1\n", "../beside/b.txt": "b\n", ".git/config": "[core]\n", "gen.sh": "#!/bin/sh\nexit 0\n"} {
		r.put(name, text)
	}
	if err := os.Chmod(filepath.Join(r.dir, "gen.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	asked, now := map[int]bool{}, 0 // by row
	classified := make([]chan struct{}, len(kindsOfCalls))
	for i := range classified {
		classified[i] = make(chan struct{})
	}
	r.serve(func(q *script.Request) script.Turn {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case strings.Contains(string(q.Body), "You guard the user's computer"):
			close(classified[now])
			return says("UNSAFE")
		case strings.Contains(q.FirstText(), "CHILD"), q.Turn >= len(kindsOfCalls):
			return says("done")
		}
		now = q.Turn
		return uses(kindsOfCalls[now].tool, kindsOfCalls[now].input)
	})
	run := func(context.Context, *tool.Call, struct{}) (string, error) { return "ran", nil }
	o := harness.Options{Mode: string(mode), Preview: "off", Embedded: []tool.Tool{
		tool.New(tool.Def[struct{}, string]{Name: "Own", Description: "Does something.", Run: run}),
		tool.New(tool.Def[struct{}, string]{Name: "OwnReader", Description: "Reads.", Run: run,
			Marks: func(struct{}) tool.Marks { return tool.Marks{ReadOnly: true} },
			Paths: func(c *tool.Call, _ struct{}) tool.Paths {
				return tool.Paths{Reads: []string{filepath.Join(c.Dir, "a.txt")}}
			}}),
	}}
	person := sched.AskerFunc(func(ctx context.Context, c tool.Case, v tool.Verdict) (tool.Verdict, error) {
		mu.Lock()
		row := now
		asked[row] = true
		mu.Unlock()
		if mode == permission.Auto && !v.NeedsPerson && c.Tool.Classify != nil { // both are asked at the same time
			select {
			case <-classified[row]:
			case <-ctx.Done():
				return tool.Verdict{}, ctx.Err()
			}
		}
		return tool.Verdict{Behavior: tool.Deny, Reason: "the user", Message: "The user says no."}, nil
	})
	c := r.talk(o, harness.TalkOptions{Person: person, Interactive: true})
	defer c.Close(t.Context())
	explained := make([]tool.Behavior, len(kindsOfCalls))
	for i, kind := range kindsOfCalls {
		e, err := c.Explain(t.Context(), kind.tool, json.RawMessage(kind.input))
		if err != nil {
			t.Fatalf("%s: %v", kind.what, err)
		}
		explained[i] = e.Behavior
	}
	events, _ := r.say(c, "go")
	for _, ev := range events {
		ended, ok := ev.(agent.Returned)
		if !ok || ended.Outcome.Agent != "" {
			continue
		}
		out, row := ended.Outcome, len(said)
		mu.Lock()
		word, want := "runs", tool.Allow
		switch {
		case asked[row]:
			word, want = "asks you", tool.Ask
			select {
			case <-classified[row]:
				word = "asks you and the classifier"
			default:
			}
		case out.Status == sched.Denied:
			word, want = "is denied", tool.Deny
		}
		mu.Unlock()
		if got := explained[row]; got != want {
			t.Errorf("%s, %s: it is explained as %s, and %s: %s", mode, kindsOfCalls[row].what, got, word, out.Result.Text())
		}
		said = append(said, word)
	}
	if len(said) != len(kindsOfCalls) {
		t.Fatalf("%s: %d calls were made", mode, len(said))
	}
	return said
}
