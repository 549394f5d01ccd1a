package wiretest_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/wire/wiretest"
)

const stamp = `"uuid":"u","session_id":"s"`

func TestCheckerFindsWhatIsWrong(t *testing.T) {
	result := func(more string) string {
		return `{"type":"result",` + stamp + `,"duration_ms":1,"duration_api_ms":1,"num_turns":1,"stop_reason":null,"total_cost_usd":0,"modelUsage":{},"permission_denials":[],"queued_turn_count":0,"result_index":0,` +
			`"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0},` + more + `}`
	}
	tests := []struct{ name, line, want string }{
		{"a good line", `{"type":"system","subtype":"status","status":null,` + stamp + `}`, ""},
		{"no JSON", `{`, "decode message"},
		{"an unknown type", `{"type":"weather"}`, "no such type"},
		{"an unknown field", `{"type":"system","subtype":"status","status":null,"mood":1,` + stamp + `}`, "the schema has no mood"},
		{"a missing field", `{"type":"system","subtype":"status",` + stamp + `}`, "'status'"},
		{"an empty id", `{"type":"system","subtype":"status","status":null,"uuid":"","session_id":"s"}`, "uuid"},
		{"a value that is none of those", `{"type":"system","subtype":"status","status":"dreaming",` + stamp + `}`, "requesting"},
		{"a success", result(`"subtype":"success","is_error":false,"result":""`), ""},
		{"a success without a text", result(`"subtype":"success","is_error":false`), "'result'"},
		{"an error", result(`"subtype":"error_max_turns","is_error":true,"errors":["x"]`), ""},
		{"an error without errors", result(`"subtype":"error_max_turns","is_error":true`), "'errors'"},
		{"an error that is none", result(`"subtype":"error_max_turns","is_error":false,"errors":["x"]`), "is_error"},
		{"a tool result without an id", `{"type":"user","session_id":"s","parent_tool_use_id":null,"message":{"role":"user","content":[{"type":"tool_result"}]}}`, "tool_use_id"},
		{"a block of a kind unknown here", `{"type":"user","session_id":"s","parent_tool_use_id":null,"message":{"role":"user","content":[{"type":"hologram","text":5}]}}`, ""},
		{"a request", `{"type":"control_request","request_id":"1","request":{"subtype":"set_permission_mode","mode":"plan"}}`, ""},
		{"a request without its field", `{"type":"control_request","request_id":"1","request":{"subtype":"set_permission_mode"}}`, "'mode'"},
		{"a request with another field", `{"type":"control_request","request_id":"1","request":{"subtype":"interrupt","now":true}}`, "request.now"},
		{"an unknown request", `{"type":"control_request","request_id":"1","request":{"subtype":"dance"}}`, "no such request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := wiretest.NewChecker().Line([]byte(tt.line))
			if tt.want == "" && err != nil {
				t.Errorf("found %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("found %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCheckerHoldsAnswersAgainstTheirRequests(t *testing.T) {
	c := wiretest.NewChecker()
	for _, tt := range []struct {
		line string
		ok   bool
	}{
		{`{"type":"control_request","request_id":"1","request":{"subtype":"set_permission_mode","mode":"plan"}}`, true},
		{`{"type":"control_request","request_id":"2","request":{"subtype":"mcp_status"}}`, true},
		{`{"type":"control_response","response":{"subtype":"success","request_id":"2","response":{"mode":"plan"}}}`, false},
		{`{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"mode":"plan"}}}`, true},
		{`{"type":"control_response","response":{"subtype":"success","request_id":"3","response":{"any":"thing"}}}`, true},
	} {
		if err := c.Line([]byte(tt.line)); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.line, err)
		}
	}
}

func TestForeignLinesMaySayMore(t *testing.T) {
	c := wiretest.NewChecker()
	for _, line := range []string{`{"type":"weather"}`, `{"type":"system","subtype":"status","status":null,"mood":1,` + stamp + `}`,
		`{"type":"control_request","request_id":"1","request":{"subtype":"dance"}}`} {
		if err := c.Foreign([]byte(line)); err != nil {
			t.Error(err)
		}
	}
	if err := c.Foreign([]byte(`{"type":"system","subtype":"status",` + stamp + `}`)); err == nil {
		t.Error("a missing field is no error")
	}
}
