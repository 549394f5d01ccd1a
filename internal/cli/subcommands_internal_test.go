package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/world/shellrun"
)

func TestSubcommandsAreBuiltUnderTheirNames(t *testing.T) {
	for _, sub := range subcommands {
		c := sub.build(Streams{}, shellrun.Reexec{})
		if names := append([]string{c.Name()}, c.Aliases...); !slices.Equal(names, sub.names) {
			t.Errorf("listed as %q, built as %q", sub.names, names)
		}
	}
}

// TestCommandsAreFoundWithoutBeingBuiltAlways runs command lines of each kind: what names a command finds it, what does
// not still hears of the commands.
func TestCommandsAreFoundWithoutBeingBuiltAlways(t *testing.T) {
	for line, want := range map[string]string{
		"--help":             "  permissions ",
		"-h":                 "  help ",
		"hel":                "Did you mean help",
		"help":               "permissions",
		"tool":               "Did you mean tools",
		"plugins --help":     "haft plugin",
		"--lang en version":  "haft ",
		"__complete permiss": "permissions",
	} {
		t.Run(line, func(t *testing.T) {
			var out bytes.Buffer
			Run(t.Context(), strings.Fields(line), Streams{In: strings.NewReader(""), Out: &out, Err: &out}, shellrun.Reexec{})
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in:\n%s", want, out.String())
			}
		})
	}
	root, _ := newConversation(Streams{}, shellrun.Reexec{})
	if mayNameCommand([]string{"-p", "hello", "--model", "m"}) || len(root.Commands()) > 0 {
		t.Error("a conversation builds commands that it does not need")
	}
}
