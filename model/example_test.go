package model_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/internal/models/provider/retry"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

func Example() {
	srv, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{{
		Blocks: []script.Block{{Text: "I will look."}, {Tool: "Read", Input: json.RawMessage(`{"file_path":"/a"}`)}},
	}}}})
	if err != nil {
		panic(err)
	}
	defer srv.Close()

	m := retry.New(anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "k"}), nil)
	history := &model.History{}
	if err := history.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("What is in /a?")}}); err != nil {
		panic(err)
	}
	for ev, err := range m.Stream(context.Background(), &model.Request{Model: "claude-opus-5-5", Messages: history}) {
		if err != nil {
			panic(err)
		}
		switch ev := ev.(type) {
		case model.Start:
			fmt.Println("model:", ev.Model)
		case model.BlockStop:
			if ev.Block.Type == model.ToolUse {
				fmt.Println("call:", ev.Block.Name, string(ev.Block.Input))
			} else {
				fmt.Println("text:", ev.Block.Text)
			}
		case model.Stop:
			fmt.Println("stop:", ev.Reason)
		}
	}
	// Output:
	// model: scripted:claude-opus-5-5
	// text: I will look.
	// call: Read {"file_path":"/a"}
	// stop: tool_use
}
