package permission_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/tool"
)

// TestRulesAboutOneFileTool: people write Write(p) and Grep(p). Denied, they cover every tool
// of the kind; allowed, only the one that they name.
func TestRulesAboutOneFileTool(t *testing.T) {
	project := newRealPlace(t, "docs/a.md")
	file := filepath.Join(project.dir, "docs", "a.md")
	call := func(name string) tool.Case {
		in, err := json.Marshal(map[string]any{"file_path": file, "notebook_path": file, "path": file, "pattern": "x", "content": "x", "new_source": "x", "old_string": "a", "new_string": "b", "edits": []any{map[string]string{"old_string": "a", "new_string": "b"}}})
		if err != nil {
			t.Fatal(err)
		}
		return called(name, in)
	}
	edits := []string{"Write", "MultiEdit", "NotebookEdit", "Edit"}
	for _, c := range []struct {
		named, kind string
		tools       []string
	}{{"Write", "Edit", edits}, {"MultiEdit", "Edit", edits}, {"NotebookEdit", "Edit", edits}, {"Glob", "Read", []string{"Read", "Grep"}}, {"Grep", "Read", []string{"Read", "Grep"}}} {
		for _, b := range []tool.Behavior{tool.Deny, tool.Ask} {
			named := project.policyAt(t, ".", permission.Rule{Text: c.named + "(docs/**)", Behavior: b})
			plain := project.policyAt(t, ".", permission.Rule{Text: c.kind + "(docs/**)", Behavior: b})
			for _, name := range c.tools {
				if got, want := named.Decide(call(name)).Behavior, plain.Decide(call(name)).Behavior; got != want || got != b {
					t.Errorf("%s rule %s(docs/**): %s: %s, but %s(docs/**) says %s", b, c.named, name, got, c.kind, want)
				}
			}
			if problems := named.Problems(); len(problems) > 0 {
				t.Errorf("%s: %v", c.named, problems)
			}
		}
	}
	allow := project.policyAt(t, ".", permission.Rule{Text: "Write(docs/**)", Behavior: tool.Allow})
	for name, want := range map[string]tool.Behavior{"Write": tool.Allow, "Edit": tool.Ask, "NotebookEdit": tool.Ask} {
		if got := allow.Decide(call(name)).Behavior; got != want {
			t.Errorf("allow rule Write(docs/**): %s: %s, want %s", name, got, want)
		}
	}
	if got := allow.Decide(bash("touch docs/a.md")).Behavior; got != tool.Ask {
		t.Errorf("allow rule Write(docs/**): touch: %s", got)
	}
	for name, want := range map[string]bool{"Write": true, "Edit": true, "Read": false} { // the hook's own matcher tells tools apart
		c := call(name)
		if got, err := allow.Matches("Write(docs/*.md)", c.Tool, c.Call); got != want || err != nil {
			t.Errorf("a hook's if: %s: %v, %v", name, got, err)
		}
	}
}

// A rule that allows all edits does not allow to write what is probably a secret, but leaves
// it to the user, where there is one.
func TestARuleForAllEditsAsksAboutSecrets(t *testing.T) {
	project := newRealPlace(t, ".env")
	for _, rule := range []string{"Edit", "Edit(*)", "Edit(**)", "Write"} {
		in, err := json.Marshal(map[string]string{"file_path": filepath.Join(project.dir, ".env"), "content": "x"})
		if err != nil {
			t.Fatal(err)
		}
		if v := project.policyAt(t, ".", permission.Rule{Text: rule, Behavior: tool.Allow}).Decide(called("Write", in)); v.Behavior != tool.Ask {
			t.Errorf("%s: %s (%s), want a question", rule, v.Behavior, v.Reason)
		}
	}
}
