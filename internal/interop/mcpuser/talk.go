package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/haftdev/haft/model/script"
)

// talk has the model call tools in a conversation whose user gives the same answer to
// every question.
func (u *user) talk(ctx context.Context, prompt, answer string, tools []string) error {
	var turns []script.Turn
	for _, name := range tools {
		turns = append(turns, script.Turn{Blocks: []script.Block{{Tool: "mcp__" + server + "__" + name, Input: json.RawMessage(`{}`)}}})
	}
	return u.play(ctx, prompt, answer, (&script.Scenario{Turns: turns}).Answer())
}

func (u *user) play(ctx context.Context, prompt, answer string, model script.AnswerFunc) error {
	m, err := script.Serve(&script.Options{Answer: model})
	if err != nil {
		return err
	}
	defer m.Close()
	if err := u.converse(ctx, m.URL(), prompt, answer); err != nil {
		return err
	}
	if refused := m.Refused(); len(refused) > 0 {
		return errors.New(strings.Join(refused, "\n"))
	}
	return nil
}

// echo sends a schema back as haft shows it. The model gets another: providers take no
// allOf at the top of a schema.
func (u *user) echo(ctx context.Context) error {
	tools, err := u.tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		if t.Name == "json_schema_2020_12_tool" {
			return u.call(ctx, "json_schema_echo", fmt.Sprintf(`{"schema":%s}`, t.Schema))
		}
	}
	return errors.New("haft does not list the tool")
}

// useEverything uses one thing of each kind, so that the suite sees each: a tool, a
// resource from the list of them, and a prompt as a command.
func (u *user) useEverything(ctx context.Context) error {
	through := func(tool, input string) script.Turn {
		return script.Turn{Blocks: []script.Block{{Tool: "CallTool", Input: fmt.Appendf(nil, `{"tool":%q,"input":%s}`, tool, input)}}}
	}
	err := u.play(ctx, "go ahead", `{}`, func(r *script.Request) script.Turn {
		switch r.Turn {
		case 0:
			return script.Turn{Blocks: []script.Block{{Tool: "mcp__" + server + "__test_headers", Input: json.RawMessage(`{}`)}}}
		case 1:
			return script.Turn{Blocks: []script.Block{{Tool: "ToolSearch", Input: json.RawMessage(`{"query":"select:ListMcpResources,ReadMcpResource"}`)}}}
		case 2:
			return through("ListMcpResources", `{}`)
		case 3:
			return through("ReadMcpResource", fmt.Sprintf(`{"server":%q,"uri":%q}`, server, listed.Find(r.Body)))
		}
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}
	})
	if err != nil {
		return err
	}
	return u.talk(ctx, "/mcp__"+server+"__test_prompt", `{}`, nil)
}

// listed finds the address of a resource in what the model reads.
var listed = regexp.MustCompile(`file:///[^\\" ]+`)
