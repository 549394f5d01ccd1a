//go:build linux || darwin

package cli_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAServerCompletesWhatAPersonTypes: the arguments of its prompts, one by one, and the variables
// of its resource templates, in both eras.
func TestAServerCompletesWhatAPersonTypes(t *testing.T) {
	for _, era := range mcpEras {
		t.Run(era, func(t *testing.T) {
			values := map[string][]string{"name": {"Ada", "Alan", "A\x1b[2Jb"}, "tone": {"warm to Ada"}, "table": {"users", "uses"}}
			server := sdk.NewServer(&sdk.Implementation{Name: "hub", Version: "1"}, &sdk.ServerOptions{
				CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
					all := slices.Clone(values[r.Params.Argument.Name])
					if c := r.Params.Context; r.Params.Argument.Name == "tone" && (c == nil || c.Arguments["name"] != "Ada") {
						all = nil // it is told which arguments there are already
					}
					all = slices.DeleteFunc(all, func(v string) bool { return !strings.HasPrefix(v, r.Params.Argument.Value) })
					return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: all}}, nil
				},
			})
			server.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "name", Required: true}, {Name: "tone"}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Greet " + r.Params.Arguments["name"]}}}}, nil
			})
			server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "db://{table}", Name: "rows"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{}, nil
			})
			s := newSeat(t, says("Hello, Ada."))
			if out, err := s.command("mcp", "add", "hub", oneEra(t, server, era)).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			s.start()
			s.offered("/mcp__hub__greet A", "▸ Ada")
			s.see("Alan")
			if strings.Contains(s.screen(), "2Jb") {
				t.Error("what a terminal would act on is offered")
			}
			s.type_("\t")
			s.offered("w", "▸ warm to Ada")
			s.type_("\x15")
			s.offered("look at @hub:db://us", "▸ hub:db://users")
			s.see("hub:db://uses")
			s.type_("\x15")
			s.type_("/mcp__hub__greet Ada\r")
			s.see("Hello, Ada.")
			s.leave()
		})
	}
}

// offered types a text, and its end again until something is offered for it: a server may not
// be there yet.
func (s *seat) offered(text, want string) {
	s.t.Helper()
	s.type_(text)
	last := text[len(text)-1:]
	typed := time.Now()
	s.until("see "+want, func() bool {
		if strings.Contains(s.screen(), want) {
			return true
		}
		if time.Since(typed) > time.Second {
			s.type_("\x7f" + last)
			typed = time.Now()
		}
		return false
	})
}
