// Package tool is the contract between a model's tools and the harness that
// runs them.
//
// A [Tool] is a plain value: its description for the model, the shape of its input,
// how a given input behaves, and the function that does the work. [New] builds one
// from typed functions:
//
//	type Input struct {
//		City string `json:"city" jsonschema:"Where."`
//	}
//	type Output struct {
//		Celsius float64 `json:"celsius"`
//	}
//
//	weather := tool.New(tool.Def[Input, Output]{
//		Name:        "Weather",
//		Description: "Tells the temperature in a city.",
//		Marks:       func(Input) tool.Marks { return tool.Marks{ReadOnly: true, ConcurrencySafe: true} },
//		Run: func(ctx context.Context, c *tool.Call, in Input) (Output, error) {
//			return Output{Celsius: 21}, nil
//		},
//	})
//
// A tool does its work and nothing else. It does not ask for permission, run
// hooks, validate the shape of its input, cut its output or print: package sched
// does all of that, in one place, before and after Run, so that built-in, MCP
// and sub-agent calls are treated alike.
//
// Before a call runs, its tool says what the call is about: the files that it touches
// ([Tool.Paths]) and the change that it would make ([Tool.Preview]). Rules, questions
// and checkpoints ask the tool and never decode its input. A user approves the change
// that was shown; see [Call.Approve].
//
// What a tool does not declare gets the careful default: an unmarked tool runs alone,
// counts as writing, and is never approved automatically.
//
// There are two kinds of errors. An error made with [Errorf] is for the model, which
// reads it and tries something else. Any other error ends the turn.
//
// A [Set] is the tools of one turn. It is assembled explicitly and never changes.
//
// Tools and sets are safe for concurrent use; a [Call] belongs to the one
// pipeline that runs it.
package tool
