//go:build unix

package haft_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/wire"
)

// controlled starts haft itself with a scripted model and a function.
func controlled(t *testing.T, turns ...[]script.Block) (context.Context, *haft.Client, *haft.Options) {
	t.Helper()
	leakless(t)
	path, err := builtHaft()
	if err != nil {
		t.Fatal(err)
	}
	opts := commandLine{path, true}.options(t, scripted(t, turns...))
	opts.Mode, opts.FileCheckpoints = haft.BypassPermissions, true
	opts.MCPServers = map[string]haft.MCPServer{"calc": calculator()}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	c, err := haft.NewClient(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return ctx, c, opts
}

// turn sends a prompt and returns what happens.
func turn(t *testing.T, c *haft.Client, prompt string) (all []haft.Message) {
	t.Helper()
	for m, err := range c.Turn(prompt) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func TestClientSwitchesServers(t *testing.T) {
	ctx, c, _ := controlled(t, []script.Block{use("toolu_1", "mcp__calc__add", object{"a": 2, "b": 3})}, []script.Block{say("Five.")},
		[]script.Block{use("toolu_2", "mcp__calc__add", object{"a": 3, "b": 3})}, []script.Block{say("It is off.")},
		[]script.Block{use("toolu_3", "mcp__calc__add", object{"a": 4, "b": 3})}, []script.Block{say("Seven.")})
	status := func(want string) {
		t.Helper()
		eventually(t, "calc is "+want, func() bool {
			servers, err := c.MCPStatus(ctx)
			return err == nil && len(servers) == 1 && servers[0].Status == want
		})
	}
	if got := toolTexts(turn(t, c, "add")); len(got) != 1 || got[0] != "5" {
		t.Errorf("the model reads %q", got)
	}
	if err := c.ToggleMCP(ctx, "calc", false); err != nil {
		t.Fatal(err)
	}
	status("disabled")
	if got := toolTexts(turn(t, c, "add")); len(got) != 1 || got[0] == "6" {
		t.Errorf("of a server that is off the model reads %q", got)
	}
	if err := c.ToggleMCP(ctx, "calc", true); err != nil {
		t.Fatal(err)
	}
	status("connected")
	if err := c.ReconnectMCP(ctx, "calc"); err != nil {
		t.Fatal(err)
	}
	status("connected")
	if got := toolTexts(turn(t, c, "add")); len(got) != 1 || got[0] != "7" {
		t.Errorf("after a reconnect the model reads %q", got)
	}
	if err := c.ReconnectMCP(ctx, "nobody"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a server that there is not: %v", err)
	}
}

func TestClientFollowsWhatRunsInTheBackground(t *testing.T) {
	ctx, c, _ := controlled(t, []script.Block{use("toolu_1", "Bash", object{"command": "echo from the back; tail -f /dev/null", "run_in_background": true})}, []script.Block{say("It runs.")}, []script.Block{say("It ended.")})
	started := find[*wire.TaskStarted](turn(t, c, "run it"))
	if len(started) != 1 {
		t.Fatalf("%d tasks began", len(started))
	}
	eventually(t, "what the task wrote is there", func() bool {
		text, err := c.TaskOutput(ctx, started[0].TaskID)
		return err == nil && strings.Contains(text, "from the back")
	})
	if _, err := c.TaskOutput(ctx, "nothing"); err == nil {
		t.Error("a task that there is not has an output")
	}
	if err := c.StopTask(ctx, started[0].TaskID); err != nil {
		t.Error(err)
	}
}

func TestClientLooksAheadOfARewind(t *testing.T) {
	ctx, c, opts := controlled(t, []script.Block{use("toolu_1", "Write", object{"file_path": "a.txt", "content": "a\n"})}, []script.Block{say("Written.")})
	m := wire.Prompt("write")
	m.UUID = "8d9ae38c-2b51-4f4b-9f0e-7a4d0a0c5f11"
	if err := c.SendMessage(m); err != nil {
		t.Fatal(err)
	}
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.(*haft.Result); ok {
			break
		}
	}
	file := filepath.Join(opts.Dir, "a.txt")
	seen, err := c.PreviewRewind(ctx, m.UUID)
	if err != nil || !seen.CanRewind || !slices.ContainsFunc(seen.FilesChanged, func(name string) bool { return filepath.Base(name) == "a.txt" }) {
		t.Errorf("a preview says %+v, %v", seen, err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a preview changes the file: %v", err)
	}
	if done, err := c.Rewind(ctx, m.UUID); err != nil || !done.CanRewind {
		t.Errorf("a rewind says %+v, %v", done, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("after a rewind the file is there")
	}
}

func TestClientChangesTheSession(t *testing.T) {
	ctx, c, opts := controlled(t, []script.Block{say("Hello.")}, []script.Block{say("Hello again.")})
	turn(t, c, "hello")
	used, err := c.Usage(ctx)
	if err != nil || used.Session.TotalCostUSD <= 0 || len(used.Session.ModelUsage) != 1 {
		t.Errorf("usage %+v, %v", used, err)
	}
	if err := c.ApplySettings(ctx, json.RawMessage(`{"model":"claude-haiku-4-5"}`)); err != nil {
		t.Error(err)
	}
	if err := c.ApplySettings(ctx, json.RawMessage(`{"model":7}`)); err == nil || !strings.Contains(err.Error(), "model") {
		t.Errorf("settings that are wrong: %v", err)
	}
	if init := find[*haft.Init](turn(t, c, "again")); len(init) != 1 || !strings.Contains(init[0].Model, "haiku") {
		t.Errorf("the next turn begins with %+v", init)
	}
	if err := c.Rename(ctx, "A greeting"); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	list, err := haft.Sessions(&haft.SessionsOptions{Dir: opts.Dir, ConfigDir: configDir(opts)})
	if err != nil || len(list) != 1 || list[0].Title != "A greeting" {
		t.Errorf("sessions: %+v, %v", list, err)
	}
}
