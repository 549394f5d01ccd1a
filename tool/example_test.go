package tool_test

import (
	"context"
	"fmt"

	"github.com/haftdev/haft/tool"
)

func ExampleNew() {
	type Input struct {
		City string `json:"city" jsonschema:"Where." haft:"min=1"`
	}
	type Output struct {
		Celsius float64 `json:"celsius"`
	}
	weather := tool.New(tool.Def[Input, Output]{
		Name:        "Weather",
		Description: "Tells the temperature in a city.",
		Marks:       func(Input) tool.Marks { return tool.Marks{ReadOnly: true, ConcurrencySafe: true} },
		Run: func(_ context.Context, _ *tool.Call, in Input) (Output, error) {
			if in.City == "Atlantis" {
				return Output{}, tool.Errorf("There is no weather in %s. Name a city on land.", in.City)
			}
			return Output{Celsius: 21}, nil
		},
		Render: func(out Output) tool.Result { return tool.Text(fmt.Sprintf("%.0f °C", out.Celsius)) },
	})
	result, err := weather.Run(context.Background(), &tool.Call{Input: []byte(`{"city":"Ulm"}`)})
	fmt.Println(result.Text(), err)
	_, err = weather.Run(context.Background(), &tool.Call{Input: []byte(`{"city":"Atlantis"}`)})
	fmt.Println(err)
	// Output:
	// 21 °C <nil>
	// There is no weather in Atlantis. Name a city on land.
}
