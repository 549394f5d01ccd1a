package card_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/tool"
)

// unattached are the built-in tools, to ask what calls are about.
var unattached = tool.NewSet(&tool.Session{}, builtin.Unattached(), nil, nil)

func preview(t *testing.T, name string, input any) card.Preview {
	t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return card.PreviewOf(tool.Case{Tool: unattached.Lookup(name), Call: &tool.Call{Tool: name, Input: raw}}, nil)
}

type in = map[string]any

func version(mode fs.FileMode, text string) *tool.Version {
	return tool.NewVersion(mode, []byte(text), []byte(text))
}

// TestAChangeIsShown goes through what can become of a file.
func TestAChangeIsShown(t *testing.T) {
	picture := tool.NewVersion(0, []byte("\x89PNG"), nil)
	large := version(0o644, strings.Repeat("x\n", card.MaxDiff/2+1))
	for _, c := range []struct {
		name   string
		change tool.FileChange
		head   string
		lines  []string
	}{
		{"an edit", tool.FileChange{Path: "/f", Before: version(0o644, "a\nb\n"), After: version(0o644, "a\nc\n")}, "", []string{" a", "-b", "+c"}},
		{"a new file", tool.FileChange{Path: "/f", After: version(0, "a\n")}, "/f (new file)", []string{"+a"}},
		{"a new empty file", tool.FileChange{Path: "/f", After: version(0, "")}, "/f (new file)", nil},
		{"a deletion", tool.FileChange{Path: "/f", Before: version(0o644, "a\n")}, "/f (deleted)", []string{"-a"}},
		{"a rename", tool.FileChange{Path: "/g", From: "/f\x1b", Before: version(0o644, "a\n"), After: version(0o644, "a\n")}, `/g (renamed from /f\u{1b})`, nil},
		{"a mode", tool.FileChange{Path: "/f", Before: version(0o644, "a\n"), After: version(0o755, "a\n")}, "/f (mode -rw-r--r-- → -rwxr-xr-x)", nil},
		{"a picture", tool.FileChange{Path: "/f", After: picture}, "/f (new file, binary, none → 4 bytes)", nil},
		{"a real picture", tool.FileChange{Path: "/f", After: tool.NewVersion(0, []byte("\x89PNG\x0D\x0A\x1A\x0Ax\xff"), nil)}, "/f (new file, binary, image/png, none → 10 bytes)", nil},
		{"a program", tool.FileChange{Path: "/f", After: tool.NewVersion(0, []byte("\x7fELF\xff"), nil)}, "/f (new file, program, none → 5 bytes)", nil},
		{"a protected file", tool.FileChange{Path: "/f", After: version(0, "a\n"), Protected: "git runs it"}, "/f (protected: git runs it, new file)", []string{"+a"}},
		{"a lock file", tool.FileChange{Path: "/f", After: version(0, "a\n"), Folded: "lock file"}, "/f (new file, lock file, none → 2 bytes)", nil},
		{"a large file", tool.FileChange{Path: "/f", Before: version(0o644, "a"), After: large}, "/f (too large to show, 1 byte → 4194306 bytes)", nil},
		{"CRLF", tool.FileChange{Path: "/f", Before: version(0o644, "a\r\nb\r\n"), After: version(0o644, "a\r\nc\r\n")}, "/f (lines end in CRLF)", []string{" a", "-b", "+c"}},
		{"CRLF that goes", tool.FileChange{Path: "/f", Before: version(0o644, "a\r\n"), After: version(0o644, "a\n")}, "", []string{"-a\r", "+a"}},
	} {
		d := card.Diff(c.change, nil)
		var lines []string
		for _, h := range d.Hunks {
			lines = append(lines, h.Lines...)
		}
		if diff := cmp.Diff(c.lines, lines); diff != "" || d.Head() != c.head {
			t.Errorf("%s: %q, want %q, and (-want +got):\n%s", c.name, d.Head(), c.head, diff)
		}
	}
}

func TestAPreviewSaysWhatCannotBeShown(t *testing.T) {
	call := &tool.Call{Tool: "Edit", Input: []byte(`{"file_path":"/f"}`)}
	p := card.PreviewOf(tool.Case{Tool: unattached.Lookup("Edit"), Call: call, Unclear: errors.New("no\x1b")}, nil)
	if p.Note != `The changes cannot be shown: no\u{1b}` || !strings.Contains(p.Text, "/f") || p.Path != "/f" {
		t.Errorf("%+v", p)
	}
	p = card.PreviewOf(tool.Case{Tool: unattached.Lookup("Edit"), Call: call, Preview: &tool.Preview{}}, nil)
	if p.Note != "It would change nothing." {
		t.Errorf("%+v", p)
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
	if p = (card.PreviewOf(tool.Case{Call: &tool.Call{Tool: "Odd", Input: json.RawMessage("[1]")}}, nil)); p.Text != "[\n  1\n]" {
		t.Errorf("%q", p.Text)
	}
	if p.Files != nil {
		t.Error(p.Files)
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

// What a command wrote, names and messages of commits included, cannot move the cursor
// of the user who is asked about it.
func TestAPreviewedCommandIsShownWithoutEscapes(t *testing.T) {
	const evil = "\x1b[2K\rharmless"
	raw, _ := json.Marshal(in{"command": "./gen.sh"})
	c := tool.Case{Tool: unattached.Lookup("Bash"), Call: &tool.Call{Tool: "Bash", Input: raw}, Preview: &tool.Preview{
		Ran: true, Notes: []string{"commit 1 " + evil},
		Files: []tool.FileChange{
			{Path: "/p/" + evil, After: version(0o644, "a\n"), Protected: evil},
			{Path: "/p/b", After: version(0o644, "a\n")},
			{Path: "/p/.git/index", After: version(0o644, "a\n"), Folded: "git"},
		},
	}}
	p := card.PreviewOf(c, nil)
	shown := p.Summary
	for _, f := range p.Files {
		shown = append(shown, f.Head())
	}
	if text := strings.Join(shown, "\n"); strings.ContainsAny(text, "\x1b\r") || !strings.Contains(text, "harmless") {
		t.Errorf("shown: %q", text)
	}
	if len(p.Files) != 2 || !p.Files[0].Protected || !strings.Contains(p.Summary[0], "0 changed, 2 added, 0 deleted") || !strings.Contains(p.Summary[2], "One of these files is protected") {
		t.Errorf("%d files, %q", len(p.Files), p.Summary)
	}
}

// TestWhatATextDoesNotShowIsSaid shows changes that are not in the lines of a file.
func TestWhatATextDoesNotShowIsSaid(t *testing.T) {
	version := func(mode fs.FileMode, digest string) *tool.Version {
		return &tool.Version{Mode: mode, Text: []byte("x\n"), Raw: []byte("x\n"), Size: 2, Digest: digest}
	}
	for want, f := range map[string]tool.FileChange{
		"a (new file)":                                    {Path: "a", After: version(0o644, "1")},
		"a (new file, mode -rwxr-xr-x)":                   {Path: "a", After: version(0o755, "1")},
		"a (new file, mode urwxr-xr-x)":                   {Path: "a", After: version(0o755|fs.ModeSetuid, "1")},
		"a (new file, mode -rw-rw-rw-)":                   {Path: "a", After: version(0o666, "1")},
		`a\u{a}b (new file)`:                              {Path: "a\nb", After: version(0o644, "1")},
		"a (same content, different extended attributes)": {Path: "a", Before: version(0o644, "1"), After: version(0o644, "2")},
	} {
		if got := card.Diff(f, nil).Head(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
