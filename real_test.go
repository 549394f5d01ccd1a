//go:build unix

package haft_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/wire"
	"github.com/haftdev/haft/wire/wiretest"
)

// transcript runs a query and returns all of its messages.
func transcript(t *testing.T, cli commandLine, prompt string, opts *haft.Options) []haft.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []haft.Message
	check := wiretest.NewChecker()
	for m, err := range haft.Query(ctx, prompt, opts) {
		if err != nil {
			t.Fatalf("after %d messages: %v", len(all), err)
		}
		all = append(all, m)
		known(t, cli, check, m)
	}
	return all
}

// known checks a message against the schema.
func known(t *testing.T, cli commandLine, check *wiretest.Checker, m haft.Message) {
	t.Helper()
	line, err := wire.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := cli.check(check, line); err != nil {
		t.Error(err)
	}
}

func find[M haft.Message](all []haft.Message) []M {
	var found []M
	for _, m := range all {
		if m, ok := m.(M); ok {
			found = append(found, m)
		}
	}
	return found
}

func TestCommandLineRunsTools(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		s := scripted(t, []script.Block{say("I look."), use("toolu_1", "Bash", object{"command": "echo $((6*7))"})}, []script.Block{say("It is 42.")})
		opts := cli.options(t, s)
		opts.Mode = haft.BypassPermissions
		opts.PartialMessages = true
		all := transcript(t, cli, "compute", opts)

		results := find[*haft.Result](all)
		if len(results) != 1 || results[0].Result != "It is 42." {
			t.Fatalf("results: %+v", results)
		}
		if len(find[*haft.Init](all)) != 1 {
			t.Error("there is not one init")
		}
		var stdout string
		for _, u := range find[*haft.User](all) {
			if out, err := haft.OutputOf[haft.BashOutput](u); err == nil {
				stdout = out.Stdout
			}
		}
		if stdout != "42" {
			t.Errorf("the tool's output is %q", stdout)
		}
		text := ""
		for _, e := range find[*haft.StreamEvent](all) {
			piece, _ := e.TextDelta()
			text += piece
		}
		if text != "I look.It is 42." {
			t.Errorf("the pieces make %q", text)
		}
	})
}

func TestCommandLineAsksForPermission(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		s := scripted(t,
			[]script.Block{use("toolu_1", "Bash", object{"command": "touch one"})},
			[]script.Block{use("toolu_2", "Bash", object{"command": "touch two"})})
		opts := cli.options(t, s)
		var asked []string
		opts.CanUseTool = func(_ context.Context, r *haft.ToolRequest) (*haft.Permission, error) {
			asked = append(asked, r.ToolUseID)
			if r.ToolUseID == "toolu_1" {
				return haft.AllowInput(map[string]string{"command": "touch changed"})
			}
			return haft.Deny("not two"), nil
		}
		all := transcript(t, cli, "touch", opts)
		if len(asked) != 2 {
			t.Errorf("asked about %v", asked)
		}
		for name, want := range map[string]bool{"one": false, "changed": true, "two": false} {
			_, err := os.Stat(filepath.Join(opts.Dir, name))
			if (err == nil) != want {
				t.Errorf("%s exists: %v", name, err == nil)
			}
		}
		var last haft.ToolAnswer
		for _, u := range find[*haft.User](all) {
			for _, a := range haft.ToolAnswers(u) {
				last = a
			}
		}
		if !last.Failed || !strings.Contains(last.Text, "not two") {
			t.Errorf("the model reads %+v", last)
		}
	})
}

func TestCommandLineCallsHooks(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		s := scripted(t,
			[]script.Block{use("toolu_1", "Bash", object{"command": "echo one"})},
			[]script.Block{use("toolu_2", "Write", object{"file_path": "/nowhere/x", "content": "x"})})
		opts := cli.options(t, s)
		opts.Mode = haft.BypassPermissions
		var events []string
		note := func(out *haft.HookOutput) func(context.Context, *haft.HookInput) (*haft.HookOutput, error) {
			return func(_ context.Context, in *haft.HookInput) (*haft.HookOutput, error) {
				events = append(events, in.HookEventName+" "+in.ToolName)
				return out, nil
			}
		}
		opts.Hooks = []haft.Hook{
			{Event: haft.PostToolUse, Matcher: "Bash", Func: note(haft.AddContext("well said"))},
			{Event: haft.PreToolUse, Matcher: "Write", Func: note(haft.DenyCall("no writing"))},
		}
		all := transcript(t, cli, "go", opts)
		if got := strings.Join(events, ", "); got != "PostToolUse Bash, PreToolUse Write" {
			t.Errorf("hooks that ran: %s", got)
		}
		texts := toolTexts(all)
		if len(texts) != 2 || texts[0] != "one" || !strings.Contains(texts[1], "no writing") {
			t.Errorf("the model reads %q", texts)
		}
	})
}

func TestCommandLineCallsFunctions(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		s := scripted(t, []script.Block{use("toolu_1", "mcp__calc__add", object{"a": 2, "b": 3})})
		opts := cli.options(t, s)
		opts.Mode = haft.BypassPermissions
		opts.MCPServers = map[string]haft.MCPServer{"calc": calculator()}
		if texts := toolTexts(transcript(t, cli, "go", opts)); len(texts) != 1 || texts[0] != "5" {
			t.Errorf("the model reads %q", texts)
		}
	})
}

// toolTexts returns what the model reads of tools.
func toolTexts(all []haft.Message) []string {
	var texts []string
	for _, u := range find[*haft.User](all) {
		for _, a := range haft.ToolAnswers(u) {
			texts = append(texts, a.Text)
		}
	}
	return texts
}

func TestCommandLineFillsAStruct(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		s := scripted(t, []script.Block{use("toolu_1", "StructuredOutput", object{"a": 2, "b": 3})})
		got, _, err := haft.QueryInto[sum](t.Context(), "two numbers", cli.options(t, s))
		if err != nil || got != (sum{2, 3}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestCommandLineIsControlled(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		s := scripted(t, []script.Block{use("toolu_1", "Bash", object{"command": "tail -f /dev/null"})}, []script.Block{say("Hello again.")})
		opts := cli.options(t, s)
		opts.Mode = haft.BypassPermissions
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := haft.NewClient(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if len(c.Info().Models) == 0 {
			t.Error("it offers no models")
		}
		session, check := "", wiretest.NewChecker()
		for m, err := range c.Turn("sleep") {
			if err != nil {
				t.Fatal(err)
			}
			known(t, cli, check, m)
			switch m := m.(type) {
			case *haft.Assistant:
				if len(haft.ToolUses(m)) == 0 {
					continue
				}
				if _, err := c.Interrupt(ctx); err != nil {
					t.Error(err)
				}
			case *haft.Result:
				session = m.SessionID
				if m.Subtype != wire.ResultDuringExecution {
					t.Errorf("the interrupted turn ended with %s", m.Subtype)
				}
			}
		}
		if err := c.SetMode(ctx, haft.Plan); err != nil {
			t.Error(err)
		}
		if model, err := c.SetModel(ctx, "claude-haiku-4-5"); err != nil || !strings.Contains(model, "haiku") {
			t.Errorf("SetModel = %s, %v", model, err)
		}
		for m, err := range c.Turn("hello") {
			if err != nil {
				t.Fatal(err)
			}
			if init, ok := m.(*haft.Init); ok && (init.PermissionMode != "plan" || !strings.Contains(init.Model, "haiku")) {
				t.Errorf("the next turn begins with mode %s, model %s", init.PermissionMode, init.Model)
			}
		}
		if u, err := c.ContextUsage(ctx); err != nil || u.MaxTokens == 0 {
			t.Errorf("ContextUsage = %+v, %v", u, err)
		}
		pid := c.Info().PID
		if err := c.Close(); err != nil || pid != 0 && !gone(pid) {
			t.Errorf("Close = %v, process %d gone: %v", err, pid, gone(pid))
		}
		listed(t, opts, session)
	})
}

// listed checks that the session is found and read.
func listed(t *testing.T, opts *haft.Options, id string) {
	t.Helper()
	where := &haft.SessionsOptions{Dir: opts.Dir, ConfigDir: configDir(opts)}
	list, err := haft.Sessions(where)
	if err != nil || len(list) != 1 || list[0].ID != id || list[0].FirstPrompt != "sleep" {
		t.Fatalf("sessions: %+v, %v; want %s", list, err, id)
	}
	messages, err := haft.SessionMessages(id, where)
	if err != nil || len(messages) < 4 || messages[0].Type != "user" {
		t.Errorf("messages: %+v, %v", messages, err)
	}
}

func configDir(opts *haft.Options) string {
	for _, v := range opts.Env {
		if dir, ok := strings.CutPrefix(v, "CLAUDE_CONFIG_DIR="); ok {
			return dir
		}
	}
	return ""
}

func TestCommandLineTellsTurnsApart(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		s := scripted(t, []script.Block{use("toolu_1", "Bash", object{"command": "tail -f /dev/null"})}, []script.Block{say("Second.")})
		opts := cli.options(t, s)
		opts.Mode = haft.BypassPermissions
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := haft.NewClient(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for m, err := range c.Turn("one") { // and leave it in the middle
			if err != nil {
				t.Fatal(err)
			}
			if a, ok := m.(*haft.Assistant); ok && len(haft.ToolUses(a)) > 0 {
				break
			}
		}
		if _, err := c.Interrupt(ctx); err != nil {
			t.Fatal(err)
		}
		last := ""
		for m, err := range c.Turn("two") {
			if err != nil {
				t.Fatal(err)
			}
			last = haft.TextOf(m)
		}
		if last != "Second." {
			t.Errorf("the second turn ended with %q", last)
		}
	})
}
