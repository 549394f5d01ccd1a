package provider_test

import (
	"fmt"

	"github.com/haftdev/haft/internal/models/provider"
)

func ExampleOpen() {
	env := map[string]string{"ANTHROPIC_API_KEY": "sk-ant-example"}
	for _, name := range []string{"claude-sonnet-4-5", "ollama/qwen3"} {
		_, info, err := provider.Open(&provider.Options{Model: name, Getenv: func(name string) string { return env[name] }})
		fmt.Println(info.Provider, info.Model, info.Server, info.KeySource, err)
	}
	// Output:
	// anthropic claude-sonnet-4-5 https://api.anthropic.com ANTHROPIC_API_KEY <nil>
	// ollama qwen3 http://localhost:11434/v1 none <nil>
}
