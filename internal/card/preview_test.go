package card_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/card"
	"github.com/haftdev/haft/internal/workspace/patch"
	"github.com/haftdev/haft/tool"
)

func preview(t *testing.T, name string, input any) card.Preview {
	t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return card.PreviewOf(tool.Case{Call: &tool.Call{Tool: name, Input: raw}})
}

type in = map[string]any

func TestAPreviewShowsTheChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("one\ntwo\none\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, tool string
		input      in
		want       []string
	}{
		{"an edit", "Edit", in{"file_path": file, "old_string": "two", "new_string": "2"}, []string{" one", "-two", "+2", " one"}},
		{"an edit of all", "Edit", in{"file_path": file, "old_string": "one", "new_string": "1", "replace_all": true}, []string{"-one", "+1", " two", "-one", "+1"}},
		{"several edits", "MultiEdit", in{"file_path": file, "edits": []in{{"old_string": "two", "new_string": "2"}, {"old_string": "2", "new_string": "3"}}}, []string{" one", "-two", "+3", " one"}},
		{"a new file", "Write", in{"file_path": file + "x", "content": "new\n"}, []string{"+new"}},
		{"an emptied file", "Write", in{"file_path": file, "content": ""}, []string{"-one", "-two", "-one"}},
	} {
		p := preview(t, c.tool, c.input)
		var got []string
		for _, h := range p.Hunks {
			got = append(got, h.Lines...)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestAPreviewHidesNothing(t *testing.T) {
	p := preview(t, "Bash", in{"command": "ls\x1b[2K\n\u202erm"})
	if d := cmp.Diff(card.Preview{Card: card.Card{Title: "Bash"}, Text: "ls\\u{1b}[2K\n\\u{202e}rm"}, p); d != "" {
		t.Error(d)
	}
	p = preview(t, "Other", in{"x": "a\u200bb"})
	if strings.Contains(p.Text, "\u200b") || !strings.Contains(p.Text, "x") {
		t.Errorf("%q", p.Text)
	}
	if p = (card.PreviewOf(tool.Case{Call: &tool.Call{Tool: "Odd", Input: json.RawMessage("[1]")}})); p.Text != "[1]" {
		t.Errorf("%q", p.Text)
	}
	var none []patch.Hunk
	if d := cmp.Diff(none, p.Hunks); d != "" {
		t.Error(d)
	}
}

func TestWhatMayLoseSomething(t *testing.T) {
	for command, want := range map[string]bool{
		"rm -rf build": true, "make && rm x": true, "sudo rm x": true, "/bin/rm x": true, "git push --force": true, "git push -f origin": true, "git reset --hard": true,
		"git clean -fd": true, "find . -delete": true, "dd if=a of=b": true, "terraform destroy": true, "kubectl delete pod x": true, "psql -c 'DROP TABLE x'": true, "git checkout -- .": true,
		"ls": false, "git push": false, "git status": false, "echo form": false, "go test ./...": false, "cat rm.txt": false, "git checkout main": false, "npm run build": false,
	} {
		if got := preview(t, "Bash", in{"command": command}).Destructive; got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

func TestAPreviewLeavesOutWhatTheHarnessAdded(t *testing.T) {
	input := in{"skill": "pdf", "_seen": "7d00"}
	if p := preview(t, "Skill", input); p.Text != "{\n  \"skill\": \"pdf\"\n}" {
		t.Errorf("shown as %s", p.Text)
	}
	if p := preview(t, "mcp__box__run", input); !strings.Contains(p.Text, "_seen") {
		t.Errorf("a server's input is not all shown: %s", p.Text)
	}
}

// TestAPreviewOfAnotherToolShowsAllOfItsInput keeps a server's tool from showing a
// harmless command and hiding the rest.
func TestAPreviewOfAnotherToolShowsAllOfItsInput(t *testing.T) {
	p := preview(t, "mcp__box__run", in{"command": "ls", "args": "; rm -rf ~", "file_path": "/x", "content": "y"})
	for _, text := range []string{`"command": "ls"`, `; rm -rf ~`, `"content": "y"`} {
		if !strings.Contains(p.Text, text) {
			t.Errorf("%q is not shown: %s", text, p.Text)
		}
	}
}
