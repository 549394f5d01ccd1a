package slash_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness/slash"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/command"
)

func TestWhatIsTypedIsRead(t *testing.T) {
	refused := errors.New("the server refuses")
	set := command.New(command.Options{Prompts: func() []command.Prompt {
		return []command.Prompt{
			{Name: "mcp__hub__review", Get: func(_ context.Context, args []string) (string, error) {
				if !slices.Equal(args, []string{"main.go"}) {
					t.Errorf("asked with %q", args)
				}
				return "Review main.go.", nil
			}},
			{Name: "mcp__hub__broken", Get: func(context.Context, []string) (string, error) { return "", refused }},
		}
	}})
	in := &slash.Input{Commands: set, Dir: t.TempDir}
	for _, tt := range []struct {
		name, typed, text, args string
		ok                      bool
		err                     error
	}{
		{name: "a command of a server becomes its text", typed: "/mcp__hub__review main.go", text: "Review main.go.", args: "main.go", ok: true},
		{name: "one of haft's own has no text", typed: "/cost", ok: true},
		{name: "one that fails is a command still", typed: "/mcp__hub__broken", ok: true, err: refused},
		{name: "one that does not exist goes to the model", typed: "/etc/passwd is what?"},
		{name: "plain text goes to the model", typed: "what does /cost do?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok, err := in.Read(t.Context(), tt.typed)
			if ok != tt.ok || !errors.Is(err, tt.err) || got.Text != tt.text || got.Arguments != tt.args || got.Change != nil {
				t.Errorf("Read(%q) = %+v, %v, %v", tt.typed, got, ok, err)
			}
			if in.IsCommand(tt.typed) != tt.ok {
				t.Errorf("IsCommand(%q) = %v", tt.typed, !tt.ok)
			}
		})
	}
}

// TestACommandThatIsNotTrustedIsNoText types a command that a project brings and nobody
// has agreed to: it is an error, and never a prompt.
func TestACommandThatIsNotTrustedIsNoText(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "commands"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "commands", "deploy.md"), []byte("Deploy it.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := command.New(command.Options{
		Places: []knowledge.Place{{Dir: dir, Source: settings.Project}},
		Trust:  func(knowledge.Claim) bool { return false },
	})
	in := &slash.Input{Commands: set, Dir: func() string { return dir }}
	if got, ok, err := in.Read(t.Context(), "/deploy now"); !ok || err == nil || !strings.Contains(err.Error(), "haft trust") || got.Text != "" {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	if !in.IsCommand("/deploy now") {
		t.Error("it is taken for text")
	}
}

func TestWhatIsThereIsMentioned(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	in := &slash.Input{Commands: command.New(command.Options{}), Dir: func() string { return dir }}
	for text, want := range map[string]bool{
		"look at @main.go": true, "look at @" + filepath.Join(dir, "main.go"): true,
		"look at @sub": true, "look at @main.go#L1-2": true, "看@main.go": true, "ask @nobody": false, "look at main.go": false,
	} {
		if got := in.Mentions(text); got != want {
			t.Errorf("Mentions(%q) = %v", text, got)
		}
	}
	if got := in.Missing("@main.go @gone.go @types/node @v1.2 @sub @db:file.txt"); len(got) != 1 || got[0] != "gone.go" {
		t.Errorf("missing: %q", got)
	}
}
