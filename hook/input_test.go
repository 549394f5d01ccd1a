package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/hook"
)

func TestInputsAreThoseOfTheWire(t *testing.T) {
	common := hook.Common{SessionID: "s", TranscriptPath: "/t", Cwd: "/c"}
	begin := `{"session_id":"s","transcript_path":"/t","cwd":"/c",`
	call := hook.PreToolUse{ToolName: "Bash", ToolInput: json.RawMessage(`{"command":"ls"}`), ToolUseID: "u"}
	callJSON := `"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"u"`
	tests := []struct {
		detail hook.Detail
		want   string
	}{
		{call, callJSON},
		{hook.PostToolUse{PreToolUse: call, ToolResponse: map[string]any{"stdout": "x"}}, callJSON + `,"tool_response":{"stdout":"x"},"duration_ms":0`},
		{hook.PostToolUseFailure{PreToolUse: call, Error: "e"}, callJSON + `,"error":"e","is_interrupt":false,"duration_ms":0`},
		{hook.PermissionRequest{ToolName: "Bash", ToolInput: call.ToolInput}, `"tool_name":"Bash","tool_input":{"command":"ls"}`},
		{hook.UserPromptSubmit{Prompt: "p"}, `"prompt":"p"`},
		{hook.SessionStart{Source: "startup", Model: "m"}, `"source":"startup","model":"m"`},
		{hook.SessionEnd{Reason: "r"}, `"reason":"r"`},
		{hook.Stop{}, `"stop_hook_active":false,"last_assistant_message":"","background_tasks":[],"session_crons":[]`},
		{hook.SubagentStart{AgentID: "a", AgentType: "Explore"}, `"agent_id":"a","agent_type":"Explore"`},
		{hook.SubagentStop{AgentID: "a", AgentType: "Explore", AgentTranscriptPath: "/a", Stop: hook.Stop{BackgroundTasks: []any{1}}},
			`"stop_hook_active":false,"last_assistant_message":"","background_tasks":[1],"session_crons":[],"agent_id":"a","agent_type":"Explore","agent_transcript_path":"/a"`},
		{hook.PreCompact{Trigger: "auto"}, `"trigger":"auto","custom_instructions":""`},
		{hook.PostCompact{Trigger: "auto", Summary: "s"}, `"trigger":"auto","compact_summary":"s"`},
		{hook.PostToolBatch{ToolCalls: []hook.BatchCall{{ToolName: "Bash", ToolInput: json.RawMessage(`{}`), ToolUseID: "u", ToolResponse: "r"}}},
			`"tool_calls":[{"tool_name":"Bash","tool_input":{},"tool_use_id":"u","tool_response":"r"}]`},
		{hook.Notification{Message: "m", Type: "idle"}, `"message":"m","notification_type":"idle"`},
	}
	for _, tt := range tests {
		for _, agent := range []bool{false, true} {
			in := hook.Input{Common: common, Detail: tt.detail}
			want := begin + `"hook_event_name":"` + string(tt.detail.Event()) + `",` + tt.want + `}`
			if agent && !strings.Contains(tt.want, "agent_id") {
				in.AgentID, in.AgentType, in.PermissionMode = "x", "Explore", "plan"
				want = strings.Replace(want, `"hook_event_name"`, `"permission_mode":"plan","agent_id":"x","agent_type":"Explore","hook_event_name"`, 1)
			}
			got, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.detail.Event(), diff)
			}
		}
	}
}
