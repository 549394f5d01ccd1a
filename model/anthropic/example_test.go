package anthropic_test

import (
	"context"
	"fmt"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

// A scripted server stands in for a real one.
func ExampleClient_Stream() {
	srv, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{{Blocks: []script.Block{{Text: "Good morning."}}}}}})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	history := &model.History{}
	if err := history.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("Hello")}}); err != nil {
		panic(err)
	}
	m := anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "k"})
	for ev, err := range m.Stream(context.Background(), &model.Request{Model: "claude-opus-5-5", Messages: history}) {
		if err != nil {
			panic(err)
		}
		if stop, ok := ev.(model.BlockStop); ok {
			fmt.Println(stop.Block.Text)
		}
	}
	// Output:
	// Good morning.
}
