//go:build unix

package haft_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft"
)

// ctx is what a program would get from its caller.
var ctx = context.Background()

func ExampleAsk() {
	result, err := haft.Ask(ctx, "What does this repository do?", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output: It is a tool system for agents.
}

func ExampleQuery() {
	opts := &haft.Options{
		Dir:          ".",
		AllowedTools: []string{"Read", "Grep", "Bash(go test *)"},
		Mode:         haft.AcceptEdits,
		MaxTurns:     20,
	}
	for m, err := range haft.Query(ctx, "Fix the failing test", opts) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch m := m.(type) {
		case *haft.Assistant:
			if text := haft.TextOf(m); text != "" {
				fmt.Println(text)
			}
			for _, call := range haft.ToolUses(m) {
				fmt.Println("→", call.Name, string(call.Input))
			}
		case *haft.User:
			if out, err := haft.OutputOf[haft.BashOutput](m); err == nil {
				fmt.Println(out.Stdout)
			}
		case *haft.Result:
			fmt.Printf("done in %d turns\n", m.NumTurns)
		}
	}
	// Output:
	// → Bash {"command":"go test ./..."}
	// ok
	// The test passes now.
	// done in 2 turns
}

func ExampleQuery_errors() {
	_, err := haft.Ask(ctx, "Work forever", &haft.Options{MaxTurns: 3})

	var result *haft.ResultError
	var exit *haft.ExitError
	switch {
	case errors.Is(err, haft.ErrNoCLI):
		fmt.Println("haft is not installed")
	case errors.As(err, &result): // the agent ended badly
		fmt.Println(result.Result.Subtype)
	case errors.As(err, &exit): // the process did
		fmt.Println(exit.Code, exit.Stderr)
	}
	// Output: error_max_turns
}

func ExampleQueryInto() {
	type Review struct {
		Verdict string   `json:"verdict" jsonschema:"What to do with the change." haft:"enum=merge|fix|reject"`
		Reasons []string `json:"reasons" jsonschema:"Why, one sentence each."`
	}
	review, _, err := haft.QueryInto[Review](ctx, "Review the last commit", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(review.Verdict, review.Reasons)
	// Output: fix [A test is missing.]
}

func ExampleNewClient() {
	c, err := haft.NewClient(ctx, &haft.Options{Model: "sonnet"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	for _, prompt := range []string{"Hello", "And again"} {
		for m, err := range c.Turn(prompt) {
			if err != nil {
				fmt.Println(err)
				return
			}
			if r, ok := m.(*haft.Result); ok {
				fmt.Println(r.Result)
			}
		}
		if err := c.SetMode(ctx, haft.Plan); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// You said: Hello
	// You said: And again
}

func ExampleClient_Interrupt() {
	c, err := haft.NewClient(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	timer := time.AfterFunc(100*time.Millisecond, func() { c.Interrupt(ctx) })
	defer timer.Stop()
	for m, err := range c.Turn("Work forever") {
		if err != nil {
			fmt.Println(err)
			return
		}
		if r, ok := m.(*haft.Result); ok {
			fmt.Println(r.Subtype)
		}
	}
	// Output: error_during_execution
}

func ExampleQuestion() {
	c, err := haft.NewClient(ctx, &haft.Options{Questions: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for m, err := range c.Turn("Clean up") {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch m := m.(type) {
		case *haft.Question:
			fmt.Println(m.ToolName, "wants to run")
			m.Answer(haft.Deny("Nothing is removed here; move it to the attic instead."))
		case *haft.Result:
			fmt.Println(m.Result)
		}
	}
	// Output:
	// Bash wants to run
	// Denied: Nothing is removed here; move it to the attic instead.
}

func ExampleBudget() {
	budget := haft.NewBudget(2.50)
	var running sync.WaitGroup
	for _, prompt := range []string{"Hello", "Bonjour", "Hallo"} {
		running.Go(func() {
			_, err := haft.Ask(ctx, prompt, &haft.Options{Budget: budget, MaxBudgetUSD: 1})
			if errors.Is(err, haft.ErrBudget) {
				fmt.Println("too late for", prompt)
			}
		})
	}
	running.Wait()
	fmt.Printf("%.2f dollars\n", budget.Spent())
	// Output: 0.00 dollars
}

func ExampleOptions_canUseTool() {
	opts := &haft.Options{
		CanUseTool: func(ctx context.Context, r *haft.ToolRequest) (*haft.Permission, error) {
			bash, err := haft.InputOf[haft.BashInput](r.Input)
			if err != nil || strings.Contains(bash.Command, "rm -rf") {
				return haft.Deny("Nothing is removed here; move it to the attic instead."), nil
			}
			return haft.Allow(), nil
		},
	}
	result, err := haft.Ask(ctx, "Clean up", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output: Denied: Nothing is removed here; move it to the attic instead.
}

func ExampleHook() {
	opts := &haft.Options{
		Hooks: []haft.Hook{{
			Event:   haft.PreToolUse,
			Matcher: "Bash",
			Func: func(ctx context.Context, in *haft.HookInput) (*haft.HookOutput, error) {
				fmt.Println("about to run", string(in.ToolInput))
				return haft.AddContext("This machine has two cores."), nil
			},
		}},
	}
	if _, err := haft.Ask(ctx, "Run the tests", opts); err != nil {
		fmt.Println(err)
	}
	// Output: about to run {"command":"go test ./..."}
}

func ExampleNewTool() {
	type Input struct {
		City string `json:"city" jsonschema:"Where."`
		Days int    `json:"days,omitempty" jsonschema:"How many days from now." haft:"min=0;max=7"`
	}
	forecast := haft.NewTool("forecast", "Tells the weather.",
		func(ctx context.Context, in Input) (string, error) {
			if in.City == "Atlantis" {
				return "", errors.New("there is no weather under water")
			}
			return "Rain in " + in.City + ".", nil
		}, &haft.ToolOptions{ReadOnly: true})

	opts := &haft.Options{
		MCPServers:   map[string]haft.MCPServer{"weather": haft.Tools(forecast)},
		AllowedTools: []string{"mcp__weather__forecast"},
	}
	result, err := haft.Ask(ctx, "Will it rain in Oslo?", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output: Rain in Oslo.
}

func ExampleStreamEvent() {
	for m, err := range haft.Query(ctx, "Say hello", &haft.Options{PartialMessages: true}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if e, ok := m.(*haft.StreamEvent); ok {
			if text, ok := e.TextDelta(); ok {
				fmt.Print(text)
			}
		}
	}
	// Output: Hello, world.
}

func ExampleSessions() {
	sessions, err := haft.Sessions(&haft.SessionsOptions{Dir: ".", Limit: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range sessions {
		fmt.Println(s.ID, s.Modified.Format(time.DateOnly), s.FirstPrompt)
	}
	if len(sessions) > 0 {
		_, err = haft.Ask(ctx, "Go on", &haft.Options{Resume: sessions[0].ID})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// The conversation runs on a server, which shows it in its page too.
func ExampleRemote() {
	token, opts := os.Getenv("HAFT_SERVE_TOKEN"), &haft.Options{Dir: "/project"}
	opts.Transport = haft.Remote("http://127.0.0.1:7420", token)
	_, err := haft.Ask(ctx, "What does this repository do?", opts)
	fmt.Println(err)
}
