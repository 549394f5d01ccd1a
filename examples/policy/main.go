// Command policy is an agent with three of haft's tools and one of its own, under a policy in Go:
// no settings, rules or sessions of haft are in it, and no tool that it does not name.
//
//	ANTHROPIC_API_KEY=… go run ./examples/policy "Describe main.go in docs/main.md, then deploy."
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/embed/tools"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

func main() {
	if err := run(context.Background(), os.Stdout, ".", strings.Join(os.Args[1:], " "), anthropic.New(anthropic.FromEnv(os.Getenv))); err != nil {
		log.Fatal(err)
	}
}

// run answers one prompt about a folder.
func run(ctx context.Context, out io.Writer, dir, prompt string, m model.Model) error {
	project, err := tools.Open(dir, nil)
	if err != nil {
		return err
	}
	defer project.Close()
	a, err := agent.New(&agent.Options{
		Model: m, ModelName: "claude-sonnet-5-5", System: []model.System{{Text: "You work in " + project.Dir("")}}, Limits: agent.Limits{Turns: 20},
		Tools: tool.NewSet(nil, []tool.Tool{tools.Read(project), tools.Edit(project), tools.Write(project), deploy()}, nil, nil),
		Sched: sched.Options{Dir: project.Dir, Judge: policy(project)},
	})
	if err != nil {
		return err
	}
	a.Send(agent.Typed(prompt))
	for ev, err := range a.Run(ctx) {
		switch ev := ev.(type) {
		case agent.Returned:
			fmt.Fprintf(out, "%s: %s\n", ev.Outcome.Status, ev.Outcome.Result.Text())
		case agent.Result:
			fmt.Fprintln(out, ev.Text)
		case nil:
			return err
		}
	}
	return nil
}

// deploy is a tool that has a view of its own: only people deploy to production.
func deploy() tool.Tool {
	type input struct {
		To string `json:"to" jsonschema:"Where to." haft:"enum=staging|production"`
	}
	return tool.New(tool.Def[input, string]{
		Name: "Deploy", Description: "Deploys the service.",
		Permission: func(_ context.Context, _ *tool.Call, in input) tool.Verdict {
			return map[string]tool.Verdict{"production": deny("only people deploy to production")}[in.To]
		},
		Run: func(_ context.Context, _ *tool.Call, in input) (string, error) { return "deployed to " + in.To, nil },
	})
}

// policy lets the model do everything but write outside docs. Which files a call writes, the tool
// knows. What a tool itself denies does not get here.
func policy(project *tools.Project) sched.JudgeFunc {
	return func(_ context.Context, c tool.Case) tool.Verdict {
		if slices.ContainsFunc(c.Call.Facts.Paths.Writes, func(file string) bool { return !project.Contains("docs", file) }) {
			return deny("only files in docs may be changed")
		}
		return tool.Verdict{Behavior: tool.Allow}
	}
}

func deny(message string) tool.Verdict { return tool.Verdict{Behavior: tool.Deny, Message: message} }
