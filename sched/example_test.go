package sched_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

func Example() {
	type input struct {
		Text string `json:"text" jsonschema:"What to shout."`
	}
	shout := tool.New(tool.Def[input, string]{
		Name:        "Shout",
		Description: "Says it louder.",
		Run: func(_ context.Context, _ *tool.Call, in input) (string, error) {
			return strings.ToUpper(in.Text), nil
		},
	})
	// Rules that deny one word and leave the rest to whoever is asked.
	rules := sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		if strings.Contains(string(c.Call.Input), "fire") {
			return tool.Verdict{Behavior: tool.Deny, Message: "Do not shout that in a theatre."}
		}
		return tool.Verdict{Behavior: tool.Ask}
	})
	person := sched.AskerFunc(func(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) {
		return tool.Verdict{Behavior: tool.Allow}, nil
	})

	s := sched.New(&sched.Options{Judge: rules, Askers: []sched.Asker{person}})
	b := s.Start(context.Background(), &sched.BatchOptions{Tools: tool.NewSet(nil, []tool.Tool{shout}, nil, nil)})
	in := b.Open("toolu_1", "Shout") // the model begins to write a call
	fmt.Fprint(in, `{"text": "hel`)
	fmt.Fprint(in, `lo"}`)
	in.Close() // and it may run, while the model continues
	b.Add("toolu_2", "Shout", []byte(`{"text": "fire"}`))
	b.Add("toolu_3", "Shuot", []byte(`{}`))
	b.End()
	for out := range b.Outcomes() {
		fmt.Println(out.UseID, out.Status, out.Result.Text())
	}
	// Output:
	// toolu_1 succeeded HELLO
	// toolu_2 denied Do not shout that in a theatre.
	// toolu_3 unknown <tool_use_error>No such tool available: "Shuot". Did you mean Shout?</tool_use_error>
}
