//lint:file-ignore SA1019 the suite wants to see what is deprecated as well.

package serve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A fixture is what the conformance suite expects a server to offer.
type fixture struct {
	*sdk.Server
	approval *approval // signs states
	stop     func()
}

// pixel is an image, silence a sound.
var (
	pixel, _   = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	silence, _ = base64.StdEncoding.DecodeString("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

// newFixture gives s what the suite expects.
func newFixture(s *Server) *fixture {
	s.tasks.soon = 50 * time.Millisecond
	server, err := s.newSDK(func(o *sdk.ServerOptions) {
		o.Capabilities = &sdk.ServerCapabilities{Logging: &sdk.LoggingCapabilities{}} // and those of everything that is added
		o.CompletionHandler = func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
		}
		o.SubscribeHandler = func(context.Context, *sdk.SubscribeRequest) error { return nil }
		o.UnsubscribeHandler = func(context.Context, *sdk.UnsubscribeRequest) error { return nil }
	})
	if err != nil {
		panic(err)
	}
	s.sdk = server
	f := &fixture{Server: s.sdk, approval: s.newApproval("fixture", nil, nil)}
	for _, name := range piped {
		if err := s.add(Tool{Name: name, Description: name, Input: anything}); err != nil {
			panic(err)
		}
	}
	f.addContent()
	f.addTalk()
	f.addQuestions()
	f.addSchemas()
	f.addChanges()
	f.addTasks(s.tasks)
	f.addResources()
	f.addPrompts()
	f.watch()
	return f
}

type toolFunc func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)

func (f *fixture) tool(name string, h toolFunc) {
	f.AddTool(&sdk.Tool{Name: name, Description: name, InputSchema: anything}, sdk.ToolHandler(h))
}

func embedded(uri string) *sdk.EmbeddedResource {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is an embedded resource"}}
}

// addContent adds tools that return one thing each.
func (f *fixture) addContent() {
	fixed := map[string][]sdk.Content{
		"test_audio_content":          {&sdk.AudioContent{MIMEType: "audio/wav", Data: silence}},
		"test_embedded_resource":      {embedded("test://embedded-resource")},
		"test_multiple_content_types": {&sdk.TextContent{Text: "text"}, &sdk.ImageContent{MIMEType: "image/png", Data: pixel}, embedded("test://mixed")},
		"test_streaming_elicitation":  {&sdk.TextContent{Text: "nothing but a result"}},
	}
	for name, content := range fixed {
		f.tool(name, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: content}, nil
		})
	}
}

// addTalk adds tools that talk to the client of the older era while they run.
func (f *fixture) addTalk() {
	logs := func(n int) toolFunc {
		return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for i := range n {
				req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: fmt.Sprintf("step %d", i)})
			}
			return say("logged"), nil
		}
	}
	f.tool("test_tool_with_logging", logs(3))
	f.tool("test_logging_tool", logs(1))
	f.tool("test_sampling", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in struct{ Prompt string }
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		r, err := req.Session.CreateMessage(ctx, &sdk.CreateMessageParams{
			MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: in.Prompt}}},
		})
		if err != nil {
			return nil, err
		}
		return say(fmt.Sprintf("LLM response: %v", r.Content)), nil
	})
	for name, schema := range elicitations {
		f.tool(name, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			r, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Please answer", RequestedSchema: json.RawMessage(schema)})
			if err != nil {
				return nil, err
			}
			return say(fmt.Sprintf("User response: action=%s, content=%v", r.Action, r.Content)), nil
		})
	}
	f.tool("test_reconnection", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if req.Extra != nil && req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		time.Sleep(100 * time.Millisecond) // the client comes back meanwhile
		return say("reconnected"), nil
	})
	f.tool("test_missing_capability", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
			return say("sampling is there"), nil
		}
		return nil, &jsonrpc.Error{
			Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is needed",
			Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`),
		}
	})
}

// elicitations are the forms of the tools that ask.
var elicitations = map[string]string{
	"test_elicitation": `{"type":"object","properties":{"username":{"type":"string"},"email":{"type":"string"}},"required":["username","email"]}`,
	"test_elicitation_sep1034_defaults": `{"type":"object","properties":{
		"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`,
	"test_elicitation_sep1330_enums": `{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`,
}

// Questions of the newer era, which are results.
var (
	askName     = &sdk.ElicitParams{Message: "What is your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
	askOK       = &sdk.ElicitParams{Message: "Please confirm", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)}
	askGreeting = &sdk.CreateMessageParams{MaxTokens: 50, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "Greet"}}}}
)

// accepted returns what was filled in, nil if the question is open.
func accepted(answers sdk.InputResponseMap, id string) map[string]any {
	if r, ok := answers[id].(*sdk.ElicitResult); ok && r.Action == "accept" {
		return r.Content
	}
	return nil
}

func (f *fixture) sign() string { return f.approval.sign("state", time.Now().Add(time.Minute)) }

// question adds a tool that asks until all of its questions are answered. With a
// state, one that comes back must be the one that was given.
func (f *fixture) question(name string, withState bool, asks sdk.InputRequestMap) {
	f.tool(name, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		state := req.Params.RequestState
		if withState && state != "" && !f.approval.signed("state", state) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requestState is not one of ours"}
		}
		answer := "state-ok"
		for id, ask := range asks {
			given, ok := req.Params.InputResponses[id]
			if _, form := ask.(*sdk.ElicitParams); !ok || form && len(accepted(req.Params.InputResponses, id)) == 0 {
				r := &sdk.CallToolResult{InputRequests: asks}
				if withState {
					r.RequestState = f.sign()
				}
				return r, nil
			}
			text, err := json.Marshal(given)
			if err != nil {
				return nil, err
			}
			answer += " " + string(text)
		}
		return say(answer), nil
	})
}

// addQuestions adds tools that ask by their results.
func (f *fixture) addQuestions() {
	roots := &sdk.ListRootsParams{}
	f.question("test_input_required_result_elicitation", false, sdk.InputRequestMap{"user_name": askName})
	f.question("test_input_required_result_sampling", false, sdk.InputRequestMap{"capital_question": askGreeting})
	f.question("test_input_required_result_list_roots", false, sdk.InputRequestMap{"client_roots": roots})
	f.question("test_input_required_result_request_state", true, sdk.InputRequestMap{"confirm": askOK})
	f.question("test_input_required_result_tampered_state", true, sdk.InputRequestMap{"confirm": askOK})
	f.question("test_input_required_result_multiple_inputs", true, sdk.InputRequestMap{"user_name": askName, "greeting": askGreeting, "client_roots": roots})
	f.tool("test_input_required_result_multi_round", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		switch round, _, _ := strings.Cut(req.Params.RequestState, "/"); round {
		case "":
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"step1": askName}, RequestState: "1/" + f.sign()}, nil
		case "1":
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"step2": askOK}, RequestState: "2/" + f.sign()}, nil
		}
		return say("both rounds are over"), nil
	})
	f.tool("test_input_required_result_capabilities", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		asks, caps := sdk.InputRequestMap{}, req.ClientCapabilities()
		if caps != nil && caps.Elicitation != nil {
			asks["user_name"] = askName
		}
		if caps != nil && caps.Sampling != nil {
			asks["greeting"] = askGreeting
		}
		if caps != nil && caps.RootsV2 != nil {
			asks["client_roots"] = roots
		}
		if len(req.Params.InputResponses) > 0 || len(asks) == 0 {
			return say("nothing to ask"), nil
		}
		return &sdk.CallToolResult{InputRequests: asks}, nil
	})
}

// addSchemas adds tools whose schemas matter.
func (f *fixture) addSchemas() {
	for name, schema := range map[string]string{
		"json_schema_2020_12_tool": `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
			"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
			"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
			"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
			"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
			"additionalProperties":false}`,
		"test_x_mcp_header": `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`,
	} {
		f.AddTool(&sdk.Tool{Name: name, Description: name, InputSchema: json.RawMessage(schema)},
			func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return say("got " + string(req.Params.Arguments)), nil
			})
	}
}

// addTasks adds tools that take long, and ask while they do.
func (f *fixture) addTasks(ts *tasks) {
	const long = 200 * time.Millisecond
	pause := func(ctx context.Context, d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	args := func(req *sdk.CallToolRequest) (in struct {
		Name    string
		Seconds float64
	}) {
		_ = json.Unmarshal(req.Params.Arguments, &in) // of the wrong type is as good as none
		return in
	}
	f.tool("greet", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say("Hello, " + args(req).Name + "!"), nil
	})
	for name, h := range map[string]toolFunc{
		"slow_compute": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			pause(ctx, time.Duration(args(req).Seconds*float64(time.Second)))
			return say("computed"), nil
		},
		"failing_job": func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			pause(ctx, long)
			r := say("it failed")
			r.IsError = true
			return r, nil
		},
		"protocol_error_job": func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			pause(ctx, long)
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "it broke"}
		},
		"confirm_delete": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			pause(ctx, long)
			if accepted(req.Params.InputResponses, "confirm") == nil {
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"confirm": askOK}}, nil
			}
			return say("deleted"), nil
		},
		"multi_input": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			pause(ctx, long)
			if len(req.Params.InputResponses) < 2 {
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"one": askOK, "two": askOK}}, nil
			}
			return say("both"), nil
		},
		"test_tool_with_task": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			name, ok := accepted(req.Params.InputResponses, "user_name")["name"]
			if !ok {
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"user_name": askName}}, nil
			}
			pause(ctx, long)
			return say(fmt.Sprintf("Hello, %s!", name)), nil
		},
	} {
		f.tool(name, h)
		ts.modes[name] = mayBeTask
	}
	ts.modes["failing_job"] = mustBeTask
}

// addChanges adds tools that change what is offered.
func (f *fixture) addChanges() {
	f.tool("test_trigger_tool_change", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		f.tool("passing_tool", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return say(""), nil })
		return say("changed"), nil
	})
	f.tool("test_trigger_prompt_change", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		f.prompt("passing_prompt", nil)
		return say("changed"), nil
	})
}

// addResources adds resources, one of which changes; see watch.
func (f *fixture) addResources() {
	text := func(mime, text string, blob []byte) sdk.ResourceHandler {
		return func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{
				URI: req.Params.URI, MIMEType: mime, Blob: blob, Text: strings.ReplaceAll(text, "$URI", req.Params.URI),
			}}}, nil
		}
	}
	f.AddResource(&sdk.Resource{Name: "text", URI: "test://static-text", MIMEType: "text/plain"}, text("text/plain", "This is the content of the static text resource.", nil))
	f.AddResource(&sdk.Resource{Name: "binary", URI: "test://static-binary", MIMEType: "image/png"}, text("image/png", "", pixel))
	f.AddResource(&sdk.Resource{Name: "watched", URI: "test://watched-resource", MIMEType: "text/plain"}, text("text/plain", "watched", nil))
	f.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"}, text("application/json", `{"from":"$URI"}`, nil))
}

// watch tells of changes until the fixture stops.
func (f *fixture) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				f.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "test://watched-resource"})
			}
		}
	})
	f.stop = func() { cancel(); done.Wait() }
}

// prompt adds a prompt that says back its arguments, after the extra content.
func (f *fixture) prompt(name string, extra func(args map[string]string) sdk.Content, args ...string) {
	p := &sdk.Prompt{Name: name, Description: name}
	for _, a := range args {
		p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: a, Description: a, Required: true})
	}
	f.AddPrompt(p, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		r := &sdk.GetPromptResult{Description: name}
		if extra != nil {
			r.Messages = append(r.Messages, &sdk.PromptMessage{Role: "user", Content: extra(req.Params.Arguments)})
		}
		text := "This is a simple prompt for testing."
		for _, a := range args {
			text += fmt.Sprintf(" %s='%s'", a, req.Params.Arguments[a])
		}
		r.Messages = append(r.Messages, &sdk.PromptMessage{Role: "user", Content: &sdk.TextContent{Text: text}})
		return r, nil
	})
}

func (f *fixture) addPrompts() {
	f.prompt("test_simple_prompt", nil)
	f.prompt("test_prompt_with_arguments", nil, "arg1", "arg2")
	f.prompt("test_prompt_with_embedded_resource", func(args map[string]string) sdk.Content { return embedded(args["resourceUri"]) }, "resourceUri")
	f.prompt("test_prompt_with_image", func(map[string]string) sdk.Content { return &sdk.ImageContent{MIMEType: "image/png", Data: pixel} })
	f.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "asks"}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if accepted(req.Params.InputResponses, "user_context") == nil {
			return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": askName}}, nil
		}
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "thanks"}}}}, nil
	})
}
