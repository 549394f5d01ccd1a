// Command oneshot asks an agent one question. It gives the agent a tool of its own, and decides
// about the calls that no rule decides.
//
//	go run ./examples/oneshot "Which of our two services is slower?"
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/haftdev/haft"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Stdout, strings.Join(os.Args[1:], " "), haft.Options{})
	if errors.Is(err, haft.ErrNoCLI) {
		err = errors.New("haft is not installed: run 'go install github.com/haftdev/haft/cmd/haft@latest'")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "oneshot:", err)
		os.Exit(1)
	}
}

// run answers one prompt; opts say how haft is started.
func run(ctx context.Context, out io.Writer, prompt string, opts haft.Options) error {
	if prompt == "" {
		return errors.New("no question given. Usage: oneshot QUESTION")
	}
	opts.MCPServers = map[string]haft.MCPServer{"services": haft.Tools(latency())}
	opts.AllowedTools = []string{"mcp__services__latency"}
	opts.CanUseTool = func(_ context.Context, r *haft.ToolRequest) (*haft.Permission, error) { return decide(r), nil }
	for m, err := range haft.Query(ctx, prompt, &opts) {
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *haft.Assistant:
			for _, use := range haft.ToolUses(m) {
				fmt.Fprintf(out, "calls %s\n", use.Name)
			}
		case *haft.User:
			for _, answer := range haft.ToolAnswers(m) {
				fmt.Fprintf(out, "is told %q\n", answer.Text)
			}
		case *haft.Result:
			fmt.Fprintln(out, m.Result)
		}
	}
	return nil
}

// latency is a tool that the model can call: a function of this program.
func latency() haft.Tool {
	type input struct {
		Service string `json:"service" jsonschema:"The name of the service: shop or search."`
	}
	known := map[string]string{"shop": "120 ms", "search": "45 ms"}
	return haft.NewTool("latency", "Returns how long a service takes to answer.", func(_ context.Context, in input) (string, error) {
		if took, ok := known[in.Service]; ok {
			return took, nil
		}
		return "", fmt.Errorf("there is no service %q; use shop or search", in.Service)
	}, nil)
}

// decide lets the model write files, and denies everything else with a reason for the model. It
// runs while messages are being printed, so it prints nothing itself.
func decide(r *haft.ToolRequest) *haft.Permission {
	if r.ToolName == "Write" {
		return haft.Allow()
	}
	return haft.Deny("this program only allows writing files")
}
