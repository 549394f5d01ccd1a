// Package waiting has calls that report how far they are until a file is there: a command, a call of
// an MCP server, one of a tool of the program, and a sub-agent. Tests of front ends watch them.
//
// The test binary is the MCP server, too: its TestMain calls [Serving] first. Everything is safe for
// concurrent use.
package waiting

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/tool"
)

// Variable is set in the environment of the MCP server.
const Variable = "HAFT_TEST_WAITING"

// Server is the name that the MCP server must have.
const Server = "worker"

// Prompt is what the model is asked to do, and Done what it says in the end.
const (
	Prompt = "make the waiting calls"
	Done   = "All have waited."
)

// Allowed are rules that let all the calls run.
var Allowed = []string{"Bash", "mcp__worker__work", "Wait"}

// A Kind is a kind of calls.
type Kind struct {
	// Tool is the name of the tool, and Report a part of what it reports.
	Tool, Report string

	file string
}

// Kinds are in the order of the calls.
var Kinds = []Kind{{"Bash", "line of Bash", "go-bash"}, {"mcp__worker__work", "line of MCP", "go-mcp"}, {"Wait", "line of the program", "go-program"}, {"Agent", "Bash", "go-child"}}

// CallID is the provider's id of the call.
func (k Kind) CallID() string { return "toolu_" + k.file }

// End lets the call of a kind end that runs in a folder.
func (k Kind) End(dir string) error { return os.WriteFile(filepath.Join(dir, k.file), nil, 0o600) }

// Parts are what a scripted model does in a folder.
func Parts(dir string) []script.Part {
	call := func(k Kind, input string) script.Block {
		return script.Block{Tool: k.Tool, ID: k.CallID(), Input: json.RawMessage(input)}
	}
	says := func(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }
	until := func(k Kind) string {
		raw, _ := json.Marshal(input{filepath.Join(dir, k.file)}) // a text always encodes
		return string(raw)
	}
	return []script.Part{
		{When: Prompt, Turns: []script.Turn{{Blocks: []script.Block{
			call(Kinds[0], `{"command":"until [ -e go-bash ]; do echo line of Bash; sleep 0.1; done","description":"Wait"}`),
			call(Kinds[1], until(Kinds[1])),
			call(Kinds[2], until(Kinds[2])),
			call(Kinds[3], `{"description":"Wait","prompt":"wait below","run_in_background":false}`),
		}}, says(Done)}},
		{When: "wait below", Turns: []script.Turn{{Blocks: []script.Block{
			{Tool: "Bash", Input: json.RawMessage(`{"command":"until [ -e go-child ]; do sleep 0.1; done","description":"Wait as a child"}`)},
		}}, says("Waited.")}},
	}
}

type input struct {
	Until string `json:"until" jsonschema:"The file."`
}

// wait calls report until the file is there.
func (in input) wait(ctx context.Context, report func()) error {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		if _, err := os.Stat(in.Until); err == nil {
			return nil
		}
		report()
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Tool is the tool of the program.
func Tool() tool.Tool {
	return tool.New(tool.Def[input, string]{
		Name: Kinds[2].Tool, Description: "Waits for a file.",
		Run: func(ctx context.Context, c *tool.Call, in input) (string, error) {
			return "waited", in.wait(ctx, func() { c.Report(tool.TextProgress{Text: Kinds[2].Report}) })
		},
	})
}

// Serving serves the MCP server and reports true, if this process is to be one.
func Serving() bool {
	if os.Getenv(Variable) == "" {
		return false
	}
	server := sdk.NewServer(&sdk.Implementation{Name: Server, Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "work", Description: "Works."}, func(ctx context.Context, r *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		n := 0.0
		err := in.wait(ctx, func() {
			n++
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: Kinds[1].Report, Progress: n}) // the client may be gone
		})
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "worked"}}}, nil, err
	})
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return true
}
