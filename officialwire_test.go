//go:build unix

package haft_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/wire"
	"github.com/haftdev/haft/wire/wiretest"
)

// tapped makes the command line keep the lines of both directions, and returns
// a function that reads them.
func tapped(t *testing.T, opts *haft.Options) func() [][]byte {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/bash\nset -o pipefail\ntee '" + dir + "/in' | '" + opts.CLI + "' \"$@\" | tee '" + dir + "/out'\n"
	opts.CLI = filepath.Join(dir, "cli")
	if err := os.WriteFile(opts.CLI, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return func() [][]byte {
		var all []byte
		for _, name := range []string{"in", "out"} {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, raw...)
		}
		return bytes.Split(bytes.TrimSpace(all), []byte("\n"))
	}
}

// What the official command line says and takes must fit our types: requests,
// their answers, and everything else.
func TestOfficialCommandLineFitsTheSchema(t *testing.T) {
	leakless(t)
	s := script(t, []object{say("Look:"), use("toolu_1", "Bash", object{"command": "touch one"})}, []object{say("Done.")})
	opts := official(t, s)
	opts.CanUseTool = func(context.Context, *haft.ToolRequest) (*haft.Permission, error) { return haft.Allow(), nil }
	opts.Hooks = []haft.Hook{{Event: haft.PreToolUse, Func: func(context.Context, *haft.HookInput) (*haft.HookOutput, error) { return nil, nil }}}
	opts.MCPServers = map[string]haft.MCPServer{"calc": calculator()}
	opts.PartialMessages, opts.FileCheckpoints = true, true
	lines := tapped(t, opts)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := haft.NewClient(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := tags(t, c.Turn("touch")); err != nil {
		t.Fatal(err)
	}
	n := 1000
	for _, r := range []wire.Request{
		&wire.Interrupt{}, &wire.SetPermissionMode{Mode: "plan"}, &wire.SetMaxThinkingTokens{MaxThinkingTokens: &n}, &wire.MCPStatus{},
		&wire.GetContextUsage{}, &wire.GetUsage{SkipBehaviors: true}, &wire.ReadFile{Path: filepath.Join(opts.Dir, "one")},
		&wire.ReloadSkills{}, &wire.ReloadOutputStyles{}, &wire.ReloadPlugins{}, &wire.BackgroundTasks{ToolUseID: "none"},
		&wire.GetSessionCost{}, &wire.GetBinaryVersion{}, &wire.ListModels{}, &wire.FileSuggestions{Query: "o"}, &wire.GetSettings{},
		&wire.MCPSetServers{Servers: map[string]json.RawMessage{}}, &wire.ApplyFlagSettings{Settings: json.RawMessage(`{}`)},
	} {
		if err := c.Call(ctx, r, nil); err != nil {
			t.Error(err)
		}
	}
	if err := c.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := tags(t, c.Messages()); err != nil {
		t.Error(err)
	}
	fits(t, lines())
}

// fits checks the lines of both directions, requests before answers.
func fits(t *testing.T, lines [][]byte) {
	t.Helper()
	check := wiretest.NewChecker()
	for _, answers := range []bool{false, true} {
		for _, line := range lines {
			if bytes.Contains(line, []byte(`"type":"control_response"`)) != answers {
				continue
			}
			if err := check.Foreign(line); err != nil {
				t.Errorf("%.1500v", err)
			}
		}
	}
}
