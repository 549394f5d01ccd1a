// Command conformance is the client that the official MCP conformance suite
// drives: haft's host, told by the scenario's name what to do with a server.
//
//	MCP_CONFORMANCE_SCENARIO=tools_call conformance http://127.0.0.1:PORT/mcp
//
// It has no protocol code of its own. What a scenario cannot say by its server
// alone (which tools to call, how a user answers) is here, nothing else.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: conformance URL")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Getenv("MCP_CONFORMANCE_SCENARIO")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const server = "suite"

// told is what the suite says about a scenario.
type told struct {
	credentials
	ToolCalls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

func run(url, scenario string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	var facts told
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &facts) // most scenarios have none
	opts := &mcp.Options{
		Name: "haft-conformance", Version: "1.0.0", Elicit: answers(scenario),
		ProbeTimeout: 10 * time.Second, // a busy machine is no server of the older era
	}
	if strings.HasPrefix(scenario, "auth/") {
		dir, err := os.MkdirTemp("", "haft-conformance")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		opts.Auth = account{scenario, facts.credentials, dir}
	}
	h := mcp.NewHost(opts)
	defer h.Close()
	h.Start([]mcp.Server{{Name: server, Type: mcp.HTTP, URL: url}})
	if err := h.Wait(ctx); err != nil {
		return err
	}
	if s := h.Status()[0]; s.State != mcp.Connected {
		return fmt.Errorf("%s: %s %s", scenario, s.State, s.Error)
	}
	return act(ctx, h, scenario, facts)
}

// answers is how the user of a scenario answers questions.
func answers(scenario string) func(context.Context, mcp.Elicitation) (mcp.Answer, error) {
	content := `{}`
	if scenario == "sep-2322-client-request-state" {
		content = `{"confirmed":true}`
	}
	return func(context.Context, mcp.Elicitation) (mcp.Answer, error) {
		return mcp.Answer{Action: "accept", Content: json.RawMessage(content)}, nil
	}
}

// act does what a scenario wants to see beyond a connection.
func act(ctx context.Context, h *mcp.Host, scenario string, facts told) error {
	call := func(name, input string) error {
		_, err := h.Call(ctx, server, name, &tool.Call{Input: json.RawMessage(input)})
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		}
		return err
	}
	switch scenario {
	default:
		if strings.HasPrefix(scenario, "auth/") {
			_ = call("test-tool", `{}`) // some are meant to fail
		}
	case "tools_call":
		return call("add_numbers", `{"a":5,"b":3}`)
	case "elicitation-sep1034-client-defaults":
		return call("test_client_elicitation_defaults", `{}`)
	case "sse-retry":
		return call("test_reconnection", `{}`)
	case "sep-2322-client-request-state":
		for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			_ = call(name, `{}`) // some are meant to fail
		}
	case "sep-2640-client-no-prefetch":
		_, err := h.Skills(ctx, server)
		return err
	case "sep-2640-client-verify-digest", "sep-2640-client-verify-size", "sep-2640-client-verify-frontmatter":
		return useSkills(ctx, h)
	case "json-schema-2020-12-preservation":
		return echoSchema(h, call)
	case "http-standard-headers":
		useEverything(ctx, h, call)
	case "http-custom-headers":
		for _, c := range facts.ToolCalls {
			_ = call(c.Name, string(c.Arguments)) // some are meant to fail
		}
	case "http-invalid-tool-headers":
		for _, s := range h.Status()[0].Tools {
			if s.Offered != "" {
				_ = call(s.Name, `{"region":"us-west1"}`)
			}
		}
	}
	return nil
}

// echoSchema sends a schema back as it came.
func echoSchema(h *mcp.Host, call func(name, input string) error) error {
	for _, t := range h.Tools() {
		if t.Meta["tool"] == "json_schema_2020_12_tool" {
			return call("json_schema_echo", `{"schema":`+string(t.Meta["inputSchema"].(json.RawMessage))+`}`)
		}
	}
	return fmt.Errorf("the tool is not offered: %+v", h.Status()[0].Tools)
}

// useSkills reads all files of all skills, each skill's own text first.
func useSkills(ctx context.Context, h *mcp.Host) error {
	skills, err := h.Skills(ctx, server)
	if err != nil {
		return err
	}
	for _, skill := range skills {
		if _, err := h.ReadSkill(ctx, skill, skill.URI); err != nil {
			return err
		}
		for _, f := range skill.Files {
			if _, err := h.ReadSkill(ctx, skill, f.URI); err != nil {
				return err
			}
		}
	}
	return nil
}

// useEverything uses one thing of each kind, so that the suite sees each.
func useEverything(ctx context.Context, h *mcp.Host, call func(name, input string) error) {
	if tools := h.Status()[0].Tools; len(tools) > 0 {
		_ = call(tools[0].Name, `{}`)
	}
	if list, err := h.Resources(ctx, server); err == nil && len(list) > 0 {
		_, _ = h.ReadResource(ctx, server, list[0].URI)
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end) && len(h.Prompts()) == 0; {
		time.Sleep(10 * time.Millisecond) // they are fetched after the connection
	}
	if prompts := h.Prompts(); len(prompts) > 0 {
		_, _ = h.GetPrompt(ctx, prompts[0].Command, map[string]string{})
	}
}
