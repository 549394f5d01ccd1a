//go:build unix

package haft_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/model/script"
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

// What command lines say and take must fit our types: requests,
// their answers, and everything else.
func TestCommandLineFitsTheSchema(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		s := scripted(t, []script.Block{say("Look:"), use("toolu_1", "Bash", object{"command": "touch one"})}, []script.Block{say("Done.")})
		opts := cli.options(t, s)
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
			refused := (*wire.ControlError)(nil)
			if err := c.Call(ctx, r, nil); errors.As(err, &refused) && refused.Code == wire.ErrorUnsupported && cli.ours {
				continue // that is an answer, too
			} else if err != nil {
				t.Error(err)
			}
		}
		if err := c.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := tags(t, c.Messages()); err != nil {
			t.Error(err)
		}
		fits(t, cli, lines())
	})
}

// fits checks the lines of both directions, requests before answers.
func fits(t *testing.T, cli commandLine, lines [][]byte) {
	t.Helper()
	check := wiretest.NewChecker()
	for _, answers := range []bool{false, true} {
		for _, line := range lines {
			if bytes.Contains(line, []byte(`"type":"control_response"`)) != answers {
				continue
			}
			if err := cli.check(check, line); err != nil {
				t.Errorf("%.1500v", err)
			}
		}
	}
}

// The rarer messages: tasks in the background, sub-agents, slash commands,
// hooks of settings files, denials.
func TestCommandLineFitsTheSchemaOffTheBeatenTrack(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		s := scripted(t,
			[]script.Block{use("toolu_1", "Bash", object{"command": "sleep 0.3; echo late", "run_in_background": true})},
			[]script.Block{use("toolu_2", "Agent", object{"description": "look", "prompt": "look around", "run_in_background": false, "subagent_type": "general-purpose"})},
			[]script.Block{use("toolu_3", "Bash", object{"command": "mkdir denied"}), use("toolu_4", "NoSuchTool", object{})},
			[]script.Block{say("Done.")}, []script.Block{say("Noted.")}, []script.Block{say("Noted.")}, []script.Block{say("Noted.")})
		opts := cli.options(t, s)
		opts.AllowedTools = []string{"Bash(sleep *)", "Bash(echo *)", "Agent"}
		opts.HookEvents, opts.Mode = true, haft.DontAsk
		opts.Settings = `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true"}]}]}}`
		lines := tapped(t, opts)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := haft.NewClient(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, prompt := range []string{"go", "/context", "/cost", "/compact", "/clear"} {
			if _, err := tags(t, c.Turn(prompt)); err != nil {
				t.Fatalf("%s: %v", prompt, err)
			}
		}
		if err := c.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := tags(t, c.Messages()); err != nil {
			t.Error(err)
		}
		all := lines()
		fits(t, cli, all)
		seen := map[string]bool{}
		for _, line := range all {
			if m, err := wire.Decode(line); err == nil {
				seen[m.Tag().String()] = true
			}
		}
		want := []string{"system/task_started", "system/task_notification", "system/background_tasks_changed", "system/hook_response", "system/permission_denied", "command_lifecycle"}
		if !cli.ours {
			want = append(want, "system/compact_boundary", "system/task_progress", "conversation_reset")
		}
		for _, w := range want {
			if !seen[w] {
				t.Errorf("there was no %s, only %v", w, seen)
			}
		}
	})
}
