package cli

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/plain"
	"github.com/haftdev/haft/internal/tui"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
)

// demoFiles are the repository of the demo. They end in .txt so that they are no
// package of this module.
//
//go:embed demo/*.txt
var demoFiles embed.FS

func newDemo(s Streams, reexec shellrun.Reexec) *cobra.Command {
	d := &demo{Streams: s, reexec: reexec}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a scripted model fix a failing test; no key and no network needed",
		Long: `Watch haft work: in a temporary Go repository with a failing test a model reads,
searches, edits, runs the test and a generator, and finishes. The generator may not run
unasked: it runs where its changes count for nothing, and you are asked about them. The model is scripted: it says what
this demo tells it to, over real HTTP on this machine. Everything else is real: the
client, the streaming, the tools, the verdicts on them, the files and processes.`,
		Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error { return d.run(c.Context()) },
	}
	c.Flags().BoolVar(&d.keep, "keep", false, "leave the temporary repository there")
	c.Flags().BoolVar(&d.quick, "quick", false, "without the pauses that let a person read along")
	return c
}

type demo struct {
	Streams
	reexec      shellrun.Reexec
	keep, quick bool
}

// run shows the demo. It fails if the test that was to be mended still fails.
func (d *demo) run(ctx context.Context) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("the demo fixes a Go program, and there is no go command here: install Go, or set a key and say haft -p \"…\"")
	}
	dir, err := d.repository()
	if err != nil {
		return err
	}
	leave, err := d.keepNothing()
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer leave()
	if d.keep {
		defer fmt.Fprintf(d.Err, "The repository is in %s\n", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	server, err := script.Serve(&script.Options{Scenario: d.scenario(dir)})
	if err != nil {
		return fmt.Errorf("serve the scripted model: %w", err)
	}
	defer server.Close()
	fmt.Fprintf(d.Out, "haft demo: the model is SCRIPTED, served at %s. Everything else is real.\n", server.URL())
	fmt.Fprintf(d.Out, "A Go repository in %s has a failing test.\n\n> The test of this package fails. Fix the code.\n\n", dir)
	if err := d.converse(ctx, dir, server.URL()); err != nil {
		return err
	}
	if refused := server.Refused(); len(refused) > 0 { // the model is scripted, but it is as strict as the real API
		return fmt.Errorf("the demo sent what the Messages API refuses: %s", strings.Join(refused, "; "))
	}
	fmt.Fprintf(d.Out, "\nThat was scripted. The real thing, in a repository of yours:\n  ANTHROPIC_API_KEY=… haft -p \"say what to do\"\n")
	return nil
}

// keepNothing keeps what a session leaves behind, which a change needs to be undone, in
// a folder that goes with the demo.
func (d *demo) keepNothing() (leave func(), err error) {
	state, err := os.MkdirTemp("", "haft-demo-state-")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"HAFT_HOME", "CLAUDE_CONFIG_DIR"} {
		if err := os.Setenv(name, state); err != nil {
			return nil, errors.Join(err, os.RemoveAll(state))
		}
	}
	return func() { os.RemoveAll(state) }, nil
}

// Ask asks about a change as a conversation does. Where nobody can answer, the demo
// allows what it has shown.
func (d *demo) Ask(ctx context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
	fmt.Fprint(d.Out, plain.Question(c, q))
	allow := tool.Verdict{Behavior: tool.Allow, Reason: "the demo allows what it has shown"}
	if d.quick || !tui.IsTerminal(d.In, d.Out) {
		fmt.Fprintln(d.Out, "(You would answer here. The demo says yes.)")
		return allow, nil
	}
	fmt.Fprint(d.Out, "Enter makes this change, n drops it: ")
	line, err := readLine(ctx, d.In)
	if err != nil {
		return tool.Verdict{}, err
	}
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "n") {
		return tool.Verdict{Behavior: tool.Deny, Reason: "the user denied it", Message: "The user does not want this change."}, nil
	}
	allow.Reason = "the user allowed it"
	return allow, nil
}

// repository writes the repository into a new folder.
func (d *demo) repository() (string, error) {
	dir, err := os.MkdirTemp("", "haft-demo-")
	if err != nil {
		return "", err
	}
	names, err := demoFiles.ReadDir("demo")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		content, err := demoFiles.ReadFile("demo/" + name.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.TrimSuffix(name.Name(), ".txt")), content, 0o644)
		}
		if err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	return dir, nil
}

// converse lets the model work and shows it.
func (d *demo) converse(ctx context.Context, dir, url string) error {
	w, err := harness.Open(&harness.Options{
		Dir: dir, Reexec: d.reexec, Sources: []settings.Source{}, // what a person has set is not part of the demo
		Allowed: []string{"Bash(go test:*)", "Edit(basket.go)"}, Disallowed: []string{"Bash(git push:*)"},
		Settings: `{"todoTools":"todos"}`,
	})
	if err != nil {
		return err
	}
	talk, err := w.Talk(ctx, &harness.TalkOptions{Client: anthropic.New(&anthropic.Options{BaseURL: url, Key: "none"}), Model: "claude-opus-5-5", Person: d, Interactive: true, Version: version()})
	if err != nil {
		return errors.Join(err, w.Close())
	}
	defer talk.Close(context.WithoutCancel(ctx))
	talk.Send(agent.Prompt{Content: []model.Block{model.TextOf("The test of this package fails. Fix the code.")}})
	show := plain.New(d.Out, &plain.Options{Color: isTerminal(d.Out), Verdicts: true})
	var last agent.Result
	for ev, err := range talk.Run(ctx) {
		if err != nil {
			return err
		}
		if err := show.Show(ev); err != nil {
			return err
		}
		if r, ok := ev.(agent.Result); ok {
			last = r
		}
	}
	if last.Reason != agent.Completed {
		return fmt.Errorf("the demo ended early: %s %s", last.Reason, strings.Join(last.Errors, "; "))
	}
	return d.check(ctx, dir)
}

// check runs the test itself: the demo is not to be believed.
func (d *demo) check(ctx context.Context, dir string) error {
	test := exec.CommandContext(ctx, "go", "test", "./...")
	test.Dir = dir
	if out, err := test.CombinedOutput(); err != nil {
		return fmt.Errorf("the test still fails:\n%s", out)
	}
	return nil
}

// scenario is what the model says.
func (d *demo) scenario(dir string) *script.Scenario {
	file := func(name string) string { return filepath.Join(dir, name) }
	pause := 25
	if d.quick {
		pause = 0
	}
	call := func(name string, input any) script.Block {
		raw, err := json.Marshal(input)
		if err != nil {
			panic("demo: " + err.Error())
		}
		return script.Block{Tool: name, Input: raw}
	}
	type in = map[string]any
	todo := func(statuses ...string) script.Block {
		names := [][2]string{{"Run the test", "Running the test"}, {"Find the cause", "Finding the cause"}, {"Fix it and test again", "Fixing it"}}
		var items []in
		for i, n := range names {
			items = append(items, in{"content": n[0], "activeForm": n[1], "status": statuses[i]})
		}
		return call("TodoWrite", in{"todos": items})
	}
	const patience = 600_000 // milliseconds: the first go test of a machine builds the standard library
	turns := []script.Turn{
		{Blocks: []script.Block{
			{Text: "I'll run the test first, to see what it says."},
			todo("in_progress", "pending", "pending"),
			call("Bash", in{"command": "go test ./...", "description": "Run the tests", "timeout": patience}),
		}},
		{Blocks: []script.Block{
			{Text: "Baskets with several pieces cost too little. I'll look at the code, its test and every use of Pieces at once."},
			todo("completed", "in_progress", "pending"),
			call("Read", in{"file_path": file("basket.go")}),
			call("Read", in{"file_path": file("basket_test.go")}),
			call("Grep", in{"pattern": `Pieces`, "path": dir, "output_mode": "content"}),
		}},
		{Blocks: []script.Block{
			{Text: "Total adds the price of one piece, however many there are."},
			todo("completed", "completed", "in_progress"),
			call("Edit", in{"file_path": file("basket.go"), "old_string": "sum += item.Price\n", "new_string": "sum += item.Price * item.Pieces\n"}),
		}},
		{Blocks: []script.Block{
			call("Bash", in{"command": "go test ./...", "description": "Run the tests again", "timeout": patience}),
		}},
		{Blocks: []script.Block{
			{Text: "The tests pass. API.md is made by a generator; I'll run it, in case it is out of date."},
			call("Bash", in{"command": "go generate ./...", "description": "Bring API.md up to date"}),
		}},
		{Blocks: []script.Block{
			{Text: "I'll publish the change right away."},
			todo("completed", "completed", "completed"),
			call("Bash", in{"command": "git push origin main", "description": "Publish the change"}),
		}},
		{Blocks: []script.Block{
			{Text: "Publishing is denied by a rule, and that is right: it was not what you asked for. Total now counts every piece, and the tests pass."},
		}},
	}
	for i := range turns {
		turns[i].Delta = pause
	}
	return &script.Scenario{Turns: turns}
}
