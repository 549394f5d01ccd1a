package headless_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/model/script"
)

var pyCases = map[string]func(*pyStage){
	"test_agent_definition":                       pyAgent,
	"test_agent_definition_with_query_function":   pyAgent,
	"test_large_agents_with_query_function":       pyLargeAgents,
	"test_large_agent_definitions_via_initialize": pyLargeAgents,
	"test_filesystem_agent_loading": func(s *pyStage) {
		s.write(".claude/agents/fs-test-agent.md", "---\nname: fs-test-agent\ndescription: A filesystem test agent\ntools: Read\n---\n\nYou are a test agent.\n")
		r := s.start([]string{"--max-turns", "1", "--setting-sources=project"}, "", saysText("hello to you"))
		r.query("Say hello in exactly 3 words")
		r.want("the agent of the file", contains(strs(r.init(), "agents"), "fs-test-agent") && len(r.of("assistant")) > 0)
		r.end()
	},
	"test_setting_sources_default": func(s *pyStage) { pyLocalStyle(s) },
	"test_setting_sources_project_included": func(s *pyStage) {
		pyLocalStyle(s, "--setting-sources=user,project,local")
	},
	"test_setting_sources_user_only": func(s *pyStage) {
		s.write(".claude/commands/testcmd.md", "---\ndescription: Test command\n---\n\nThis is a test command.\n")
		r := s.start([]string{"--max-turns", "1", "--setting-sources=user"}, "", saysText("4"))
		r.query("What is 2 + 2?")
		r.want("no command of the project", !contains(strs(r.init(), "slash_commands"), "testcmd"))
		r.end()
	},
	"test_clear_emits_conversation_reset": func(s *pyStage) {
		r := s.start([]string{"--max-turns", "1"}, "", saysText("one"))
		first := r.query("Reply with exactly: one")
		cleared := r.query("/clear")
		resets := r.of("conversation_reset")
		r.want("one reset", len(resets) == 1 && resets[0]["session_id"] == first["session_id"] && resets[0]["new_conversation_id"] != "" && resets[0]["uuid"] != "")
		r.want("a new session", cleared["session_id"] != first["session_id"])
		r.end()
	},
	"test_set_permission_mode": func(s *pyStage) {
		r := s.start([]string{"--permission-mode", "default"}, "", saysText("4"), saysText("6"))
		r.request("set_permission_mode", `,"mode":"acceptEdits"`)
		r.query("What is 2+2?")
		r.request("set_permission_mode", `,"mode":"default"`)
		r.query("What is 3+3?")
		inits := r.of("init")
		r.want("both modes", inits[0]["permissionMode"] == "acceptEdits" && inits[1]["permissionMode"] == "default")
		r.end()
	},
	"test_set_model": func(s *pyStage) {
		s.lenient = true // the API has retired this model, and the test there takes the error
		r := s.start(nil, "", saysText("2"), saysText("4"), saysText("6"))
		r.query("What is 1+1?")
		r.request("set_model", `,"model":"claude-3-5-haiku-20241022"`)
		r.query("What is 2+2?")
		r.request("set_model", `,"model":null`)
		r.query("What is 3+3?")
		inits := r.of("init")
		r.want("the models", inits[1]["model"] == "claude-3-5-haiku-20241022" && inits[2]["model"] == inits[0]["model"])
		r.end()
	},
	"test_interrupt": func(s *pyStage) {
		r := s.start(nil, "", script.Turn{Blocks: []script.Block{{Text: strings.Repeat("1 2 3 ", 2000)}}, Delta: 50})
		r.send("Count from 1 to 100 slowly.", "")
		r.request("interrupt", "")
		r.response()
		r.end()
	},
	"test_query_api_error_raises_result_error_with_payload": func(s *pyStage) {
		s.lenient = true
		r := s.start([]string{"--model", "claude-nonexistent-model-for-sdk-e2e", "--max-turns", "1"}, "",
			script.Turn{Fault: script.Fault{Status: 404, Type: "not_found_error", Message: "model: claude-nonexistent-model-for-sdk-e2e", Times: -1}})
		result := r.query("Reply with: pong")
		text, _ := result["result"].(string)
		r.want("the cause", result["is_error"] == true && result["subtype"] == "success" && result["terminal_reason"] == "api_error" && strings.Contains(text, "claude-nonexistent-model") && result["api_error_status"] == 404.0)
		if code := r.end(); code == 0 {
			s.t.Error("the exit code is 0")
		}
	},
	"test_forward_subagent_text_delivers_attributed_text": func(s *pyStage) {
		if texts := pySubagent(s, `"forwardSubagentText":true,`).agentTexts(); texts == 0 {
			s.t.Error("no text of the agent arrives")
		}
	},
	"test_subagent_text_not_forwarded_by_default": func(s *pyStage) {
		if texts := pySubagent(s, "").agentTexts(); texts != 0 {
			s.t.Errorf("%d texts of the agent arrive", texts)
		}
	},
	"test_pre_tool_use_hook_with_additional_context": func(s *pyStage) {
		r := hookCase(s, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"Approved with context","additionalContext":"This command is running in a test environment"}}`, "PreToolUse")
		r.want("one call with its id", len(r.called) == 1 && r.called[0]["tool_use_id"] != nil)
		r.want("the context", strings.Contains(string(r.server.Requests()[1].Body), "running in a test environment"))
	},
	"test_post_tool_use_hook_with_tool_use_id": func(s *pyStage) {
		r := hookCase(s, `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"Post-tool monitoring active"}}`, "PostToolUse")
		r.want("one call with its id", len(r.called) == 1 && r.called[0]["tool_use_id"] != nil)
	},
	"test_notification_hook": func(s *pyStage) {
		r := s.start(nil, `"hooks":{"Notification":[{"matcher":null,"hookCallbackIds":["hook_0"]}]}`, saysText("hello"))
		r.hooks["hook_0"] = `{"hookSpecificOutput":{"hookEventName":"Notification","additionalContext":"Notification received"}}`
		r.query("Say hello in one word.")
		for _, in := range r.called {
			r.want("a notification", in["hook_event_name"] == "Notification" && in["notification_type"] != nil)
		}
		r.end()
	},
	"test_multiple_hooks_together": func(s *pyStage) {
		r := hookCase(s, `{}`, "Notification", "PreToolUse", "PostToolUse")
		r.want("both events", contains(r.fired(), "PreToolUse") && contains(r.fired(), "PostToolUse"))
	},
	"test_hook_with_permission_decision_and_reason": func(s *pyStage) {
		r := hookCase(s, `{"reason":"Bash commands are blocked in this test for safety","systemMessage":"Command blocked by hook","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Security policy: Bash blocked"}}`, "PreToolUse")
		r.want("it is blocked", contains(r.fired(), "PreToolUse") && strings.Contains(r.returned(), "Security policy: Bash blocked"))
	},
	"test_hook_with_continue_and_stop_reason": func(s *pyStage) {
		r := hookCase(s, `{"continue":false,"stopReason":"Execution halted by test hook for validation","reason":"Testing continue and stopReason fields","systemMessage":"Test hook stopped execution"}`, "PostToolUse")
		r.want("it stops", contains(r.fired(), "PostToolUse") && r.server.Total() == 1)
	},
	"test_hook_with_additional_context": func(s *pyStage) {
		r := hookCase(s, `{"systemMessage":"Additional context provided by hook","reason":"Hook providing monitoring feedback","suppressOutput":false,"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"executed with hook monitoring"}}`, "PostToolUse")
		r.want("the context", contains(r.fired(), "PostToolUse") && strings.Contains(string(r.server.Requests()[1].Body), "executed with hook monitoring"))
	},
	"test_include_partial_messages_stream_events": func(s *pyStage) {
		r := pyPartial(s, "--include-partial-messages")
		var events []string
		for _, m := range r.of("stream_event") {
			events = append(events, m["event"].(map[string]any)["type"].(string))
		}
		for _, kind := range []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_stop"} {
			r.want(kind, contains(events, kind))
		}
		first := r.said[slices.IndexFunc(r.said, func(m map[string]any) bool { return m["type"] != "control_response" })]
		r.want("init is first", first["subtype"] == "init")
		var kinds []string
		for _, b := range r.blocks() {
			kinds = append(kinds, b["type"].(string))
		}
		r.want("both kinds of blocks", contains(kinds, "thinking") && contains(kinds, "text") && r.results[0]["subtype"] == "success")
	},
	"test_include_partial_messages_thinking_deltas": func(s *pyStage) {
		thought := ""
		for _, m := range pyPartial(s, "--include-partial-messages").of("stream_event") {
			if delta, ok := m["event"].(map[string]any)["delta"].(map[string]any); ok && delta["type"] == "thinking_delta" {
				thought += delta["thinking"].(string)
			}
		}
		if !strings.Contains(thought, "2 and 2") {
			s.t.Errorf("the thought is %q", thought)
		}
	},
	"test_partial_messages_disabled_by_default": func(s *pyStage) {
		r := pyPartial(s)
		r.want("no events", len(r.of("stream_event")) == 0 && len(r.of("assistant")) > 0)
	},
	"test_result_origin_round_trips_host_stamp": func(s *pyStage) {
		r := s.start([]string{"--max-turns", "1"}, "", saysText("one"), saysText("two"))
		r.send("Reply with exactly: one", `,"origin":{"kind":"human"}`)
		stamped := r.response()
		unstamped := r.query("Reply with exactly: two")
		origin, _ := stamped["origin"].(map[string]any)
		r.want("the stamp", origin["kind"] == "human" && unstamped["origin"] == nil)
		r.end()
	},
	"test_sdk_mcp_tool_execution": func(s *pyStage) {
		if ran := pyMCP(s, "test", "--allowedTools", "mcp__test__echo"); !contains(ran, "echo") {
			s.t.Errorf("ran %v", ran)
		}
	},
	"test_sdk_mcp_permission_enforcement": func(s *pyStage) {
		ran := pyMCP(s, "test", "--allowedTools", "mcp__test__greet", "--disallowedTools", "mcp__test__echo", "--model", "claude-opus-4-5")
		if contains(ran, "echo") || !contains(ran, "greet") {
			s.t.Errorf("ran %v", ran)
		}
	},
	"test_sdk_mcp_multiple_tools": func(s *pyStage) {
		ran := pyMCP(s, "multi", "--allowedTools", "mcp__multi__echo,mcp__multi__greet")
		if !contains(ran, "echo") || !contains(ran, "greet") {
			s.t.Errorf("ran %v", ran)
		}
	},
	"test_sdk_mcp_without_permissions": func(s *pyStage) {
		if ran := pyMCP(s, "noperm"); len(ran) > 0 {
			s.t.Errorf("ran %v", ran)
		}
	},
	"test_store_resume_applies_user_settings": pyStoreResume,
	"test_stderr_callback_without_debug": func(s *pyStage) {
		r := s.start(nil, "", saysText("2"))
		r.query("What is 1+1?")
		r.end()
		if r.stderr.Len() > 0 {
			s.t.Errorf("standard error has %s", r.stderr)
		}
	},
	"test_simple_structured_output": func(s *pyStage) {
		pyStructured(s, `{"type":"object","properties":{"file_count":{"type":"number"},"has_tests":{"type":"boolean"}},"required":["file_count","has_tests"]}`, `{"file_count":3,"has_tests":true}`)
	},
	"test_nested_structured_output": func(s *pyStage) {
		pyStructured(s, `{"type":"object","properties":{"analysis":{"type":"object","properties":{"word_count":{"type":"number"},"character_count":{"type":"number"}},"required":["word_count","character_count"]},"words":{"type":"array","items":{"type":"string"}}},"required":["analysis","words"]}`,
			`{"analysis":{"word_count":2,"character_count":11},"words":["Hello","world"]}`)
	},
	"test_structured_output_with_enum": func(s *pyStage) {
		pyStructured(s, `{"type":"object","properties":{"has_tests":{"type":"boolean"},"test_framework":{"type":"string","enum":["pytest","unittest","nose","unknown"]}},"required":["has_tests","test_framework"]}`, `{"has_tests":true,"test_framework":"pytest"}`)
	},
	"test_structured_output_with_tools": func(s *pyStage) {
		pyStructured(s, `{"type":"object","properties":{"file_count":{"type":"number"},"has_readme":{"type":"boolean"}},"required":["file_count","has_readme"]}`, `{"file_count":0,"has_readme":false}`)
	},
	"test_subagent_messages_carry_parent_tool_use_id": pySubagentReads,
	"test_permission_callback_gets_called": func(s *pyStage) {
		r := s.start([]string{"--permission-prompt-tool", "stdio"}, "", calls("Bash", fmt.Sprintf(`{"command":"touch %s"}`, filepath.Join(s.home, "made.txt"))), saysText("ok"))
		r.query("Run the command: touch")
		r.want("it is asked", contains(r.asked, "Bash"))
		r.end()
	},
	"test_query_async_iterable_prompt_with_only_can_use_tool": pyWrite,
	"test_query_string_prompt_with_can_use_tool":              pyWrite,
	"test_truncating_resume_with_matching_drops_turn_forks_cleanly": func(s *pyStage) {
		id, keep, second := pyTwoTurns(s)
		r := s.start([]string{"--max-turns", "1", "--resume=" + id, "--fork-session", "--resume-session-at=" + keep, "--resume-drops-turn=" + second}, "", saysText("one"), saysText("three"))
		forked := r.query("Reply with exactly: three")
		r.end()
		r.want("another session", forked["is_error"] == false && forked["session_id"] != id)
		if got := pyPrompts(s, forked["session_id"].(string)); got != "Reply with exactly: one|Reply with exactly: three" {
			s.t.Errorf("the fork has %s", got)
		}
		if got := pyPrompts(s, id); got != "Reply with exactly: one|Reply with exactly: two" {
			s.t.Errorf("the session has %s", got)
		}
	},
	"test_truncating_resume_with_wrong_drops_turn_is_refused": func(s *pyStage) {
		id, keep, _ := pyTwoTurns(s)
		r := s.start([]string{"--max-turns", "1", "--resume=" + id, "--fork-session", "--resume-session-at=" + keep, "--resume-drops-turn=00000000-0000-4000-8000-00000000ffff"}, "", saysText("one"))
		r.player.readOn("result")
		raw, _ := json.Marshal(r.said)
		r.want("the refusal", strings.Contains(string(raw), "Resume rejected by --resume-drops-turn:"))
		r.in.Close()
		r.player.readOn("")
		if code := <-r.code; code == 0 {
			s.t.Error("the exit code is 0")
		}
		if got := pyPrompts(s, id); got != "Reply with exactly: one|Reply with exactly: two" {
			s.t.Errorf("the session has %s", got)
		}
	},
}

func pyAgent(s *pyStage) {
	r := s.start([]string{"--max-turns", "1"}, `"agents":{"test-agent":{"description":"A test agent for verification","prompt":"You are a test agent.","tools":["Read"],"model":"sonnet"}}`, saysText("4"))
	r.query("What is 2 + 2?")
	r.want("the agent", contains(strs(r.init(), "agents"), "test-agent"))
	r.end()
}

func pyLargeAgents(s *pyStage) {
	agents := map[string]any{}
	for i := range 20 {
		agents[fmt.Sprintf("large-agent-%d", i)] = map[string]any{"description": "Large", "prompt": strings.Repeat("x", 13<<10)}
	}
	raw, _ := json.Marshal(agents)
	r := s.start([]string{"--max-turns", "1"}, `"agents":`+string(raw), saysText("4"))
	r.query("What is 2 + 2?")
	for name := range agents {
		r.want(name, contains(strs(r.init(), "agents"), name))
	}
	r.end()
}

func pyLocalStyle(s *pyStage, flags ...string) {
	s.write(".claude/settings.local.json", `{"outputStyle": "local-test-style"}`)
	r := s.start(append(flags, "--max-turns", "1"), "", saysText("4"))
	r.query("What is 2 + 2?")
	r.want("the style of the local settings", r.init()["output_style"] == "local-test-style")
	r.end()
}

// pySubagent lets the model give work to an agent and wait for it.
func pySubagent(s *pyStage, members string, flags ...string) *pyRun {
	s.t.Helper()
	r := s.startParts(append(flags, "--allowedTools", "Agent,Task", "--max-turns", "4"),
		members+`"agents":{"greeter":{"description":"Replies with a short greeting.","prompt":"Reply with one short sentence.","model":"haiku","background":false}}`,
		script.Scenario{
			Turns: []script.Turn{calls("Agent", `{"description":"greet","subagent_type":"greeter","prompt":"say hi now","run_in_background":false}`), saysText("DONE")},
			Parts: []script.Part{{When: "say hi now", Turns: []script.Turn{saysText("Hi there")}}},
		})
	if result := r.query("Use the Agent tool exactly once"); result["is_error"] != false {
		s.t.Errorf("the result is %v", result)
	}
	r.end()
	return r
}

// agentTexts counts the texts that belong to a call of the Agent tool.
func (r *pyRun) agentTexts() (n int) {
	for _, b := range r.blocks() {
		if b["type"] == "text" && b["parent"] != nil {
			n++
			r.want("the call that it belongs to", b["parent"] == r.agentCall())
		}
	}
	return n
}

// agentCall is the id of the call of the Agent tool.
func (r *pyRun) agentCall() any {
	for _, b := range r.blocks() {
		if b["type"] == "tool_use" && b["parent"] == nil {
			return b["id"]
		}
	}
	return nil
}

func pyPartial(s *pyStage, flags ...string) *pyRun {
	s.t.Setenv("MAX_THINKING_TOKENS", "8000")
	r := s.start(append(flags, "--model", "claude-sonnet-4-5", "--max-turns", "2"), "", script.Turn{Blocks: []script.Block{{Thinking: "What 2 and 2 are"}, {Text: "4"}}})
	r.query("Think step by step about what 2 + 2 equals")
	r.end()
	return r
}

// pyMCP lets the model call both tools of a server in the program, and returns what ran.
func pyMCP(s *pyStage, server string, flags ...string) []string {
	config := fmt.Sprintf(`{"mcpServers":{%q:{"type":"sdk","name":%q}}}`, server, server)
	r := s.start(append(flags, "--mcp-config", config), "", calls("mcp__"+server+"__greet", `{"text":"Alice"}`), calls("mcp__"+server+"__echo", `{"text":"test"}`), saysText("ok"))
	r.tools = []string{"echo", "greet"}
	r.query("Call the tools")
	r.end()
	return r.ran
}

func pyStructured(s *pyStage, schema, output string) {
	r := s.start([]string{"--permission-mode", "acceptEdits", "--json-schema", schema}, "", calls("Glob", `{"pattern":"*"}`), calls("StructuredOutput", output))
	result := r.query("Count")
	raw, _ := json.Marshal(result["structured_output"])
	var got, want any
	if json.Unmarshal(raw, &got) != nil || json.Unmarshal([]byte(output), &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) || result["subtype"] != "success" || result["is_error"] != false {
		s.t.Errorf("the result is %v", result)
	}
	r.end()
}

func pyWrite(s *pyStage) {
	path := filepath.Join(s.home, "permission_e2e.txt")
	r := s.start([]string{"--permission-prompt-tool", "stdio", "--disallowedTools", "Bash", "--max-turns", "3"}, "", calls("Write", fmt.Sprintf(`{"file_path":%q,"content":"hello"}`, path)), saysText("ok"))
	result := r.query("Use the Write tool")
	text, err := os.ReadFile(path)
	r.want("it is asked and runs", contains(r.asked, "Write") && result["is_error"] == false && err == nil && string(text) == "hello")
	r.end()
}

// pyStoreResume keeps a session from the mirrored lines, as a SessionStore does, and resumes
// it with another folder of settings.
func pyStoreResume(s *pyStage) {
	caller := filepath.Join(s.home, "caller-config")
	s.t.Setenv("CLAUDE_CONFIG_DIR", caller)
	r := s.start([]string{"--max-turns", "1", "--session-mirror"}, "", saysText("one"))
	first := r.query("Reply with exactly: one")
	r.end()
	r.want("the default style", r.init()["output_style"] == "default")

	other := filepath.Join(s.home, "seeded-config")
	for _, m := range r.of("transcript_mirror") {
		rel, err := filepath.Rel(caller, m["filePath"].(string))
		if err != nil {
			s.t.Fatal(err)
		}
		var lines strings.Builder
		for _, entry := range m["entries"].([]any) {
			raw, _ := json.Marshal(entry)
			lines.WriteString(string(raw) + "\n")
		}
		path := filepath.Join(other, rel)
		before, _ := os.ReadFile(path)
		s.write(path, string(before)+lines.String())
	}
	if err := os.RemoveAll(caller); err != nil {
		s.t.Fatal(err)
	}
	s.write(filepath.Join(other, "settings.json"), `{"outputStyle": "Explanatory"}`)
	s.t.Setenv("CLAUDE_CONFIG_DIR", other)
	r = s.start([]string{"--max-turns", "1", "--session-mirror", "--resume=" + first["session_id"].(string)}, "", saysText("one"), saysText("two"))
	resumed := r.query("Reply with exactly: two")
	r.end()
	r.want("the session and its settings", resumed["session_id"] == first["session_id"] && resumed["is_error"] == false && r.init()["output_style"] == "Explanatory")
}

// pySubagentReads looks at what was mirrored of an agent, and at its file.
func pySubagentReads(s *pyStage) {
	r := pySubagent(s, "", "--session-mirror")
	call := r.agentCall()
	mirrored := 0
	for _, m := range r.of("transcript_mirror") {
		for _, entry := range m["entries"].([]any) {
			if e := entry.(map[string]any); e["type"] == "agent_metadata" {
				mirrored++
				r.want("the mirrored agent's call", e["toolUseId"] == call && strings.Contains(m["filePath"].(string), "agent-"))
			}
		}
	}
	r.want("one agent is mirrored", mirrored == 1)
	opts := &haft.SessionsOptions{Dir: s.dir}
	id := r.results[0]["session_id"].(string)
	agents, err := haft.Subagents(id, opts)
	if err != nil || len(agents) != 1 {
		s.t.Fatalf("the agents are %v, %v", agents, err)
	}
	if messages, err := haft.SubagentMessages(id, agents[0], opts); err != nil || len(messages) == 0 {
		s.t.Errorf("the agent's messages are %v, %v", messages, err)
	}
	beside, err := filepath.Glob(filepath.Join(s.home, ".claude", "projects", "*", id, "subagents", "agent-*.meta.json"))
	if err != nil || len(beside) != 1 {
		s.t.Fatalf("beside the transcript there is %v, %v", beside, err)
	}
	text, err := os.ReadFile(beside[0])
	if err != nil || !strings.Contains(string(text), fmt.Sprintf("%q", call)) {
		s.t.Errorf("it says %s, %v", text, err)
	}
}

// pyTwoTurns runs two turns and returns the session, the last message of the first turn and
// the prompt of the second.
func pyTwoTurns(s *pyStage) (id, keep, second string) {
	r := s.start([]string{"--max-turns", "1"}, "", saysText("one"), saysText("two"))
	r.query("Reply with exactly: one")
	said := r.of("assistant")
	keep = said[len(said)-1]["uuid"].(string)
	id = r.query("Reply with exactly: two")["session_id"].(string)
	r.end()
	chain := pySession(s, id)
	for i, m := range chain {
		if m.UUID == keep && i+1 < len(chain) {
			return id, keep, chain[i+1].UUID
		}
	}
	s.t.Fatalf("the session does not continue after %s: %v", keep, chain)
	return "", "", ""
}

func pySession(s *pyStage, id string) []haft.SessionMessage {
	s.t.Helper()
	chain, err := haft.SessionMessages(id, &haft.SessionsOptions{Dir: s.dir})
	if err != nil {
		s.t.Fatal(err)
	}
	return chain
}

// pyPrompts are the prompts of a session that are kept as strings.
func pyPrompts(s *pyStage, id string) string {
	var prompts []string
	for _, m := range pySession(s, id) {
		var message struct {
			Content any `json:"content"`
		}
		if m.Type != "user" || json.Unmarshal(m.Message, &message) != nil {
			continue
		}
		if text, ok := message.Content.(string); ok {
			prompts = append(prompts, text)
		}
	}
	return strings.Join(prompts, "|")
}
