package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/wire"
)

// diffJSON compares JSON values, not bytes.
func diffJSON(t *testing.T, want, got []byte) string {
	t.Helper()
	var w, g any
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatalf("want: %v", err)
	}
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("got: %v\n%s", err, got)
	}
	return cmp.Diff(w, g)
}

func TestLinesSurviveDecodingAndEncoding(t *testing.T) {
	tests := []struct{ name, line string }{
		{"a prompt", `{"type":"user","session_id":"","message":{"role":"user","content":[{"type":"text","text":"hi"}]},"parent_tool_use_id":null}`},
		{"a prompt that is a plain string", `{"type":"user","session_id":"s","message":{"role":"user","content":"a <b> & c"},"parent_tool_use_id":null,"uuid":"u","priority":"now","shouldQuery":false}`},
		{"a block of a kind unknown here", `{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"hologram","text":{"x":1},"depth":3}]},"parent_tool_use_id":null}`},
		{"an answer with a signature", `{"type":"assistant","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"thinking","thinking":"…","signature":"sig"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}},"parent_tool_use_id":"toolu_1","session_id":"s","uuid":"u"}`},
		{"a tool result", `{"type":"user","session_id":"s","uuid":"u","parent_tool_use_id":null,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"out","is_error":true}]},"tool_use_result":"Error: no"}`},
		{"a system message", `{"type":"system","subtype":"status","status":null,"permissionMode":"plan","uuid":"u","session_id":"s"}`},
		{"unknown fields at every level that matters", `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":500,"error_status":null,"error":"unknown","uuid":"u","session_id":"s","zz":[1,{"a":"}"}],"aa":"\"x"}`},
		{"a type unknown here", `{"type":"weather","rain":true}`},
		{"a system subtype unknown here", `{"type":"system","subtype":"weather","rain":true}`},
		{"a request", `{"type":"control_request","request_id":"1","request":{"subtype":"set_model","model":"haiku","new_field":1}}`},
		{"a request unknown here", `{"type":"control_request","request_id":"1","request":{"subtype":"dance","tempo":120}}`},
		{"a request with a field of a wrong type", `{"type":"control_request","request_id":"1","request":{"subtype":"set_model","model":7}}`},
		{"an answer to a request", `{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"mode":"plan"}}}`},
		{"an error answer", `{"type":"control_response","response":{"subtype":"error","request_id":"1","error":"no","error_code":"unsupported_request"}}`},
		{"a request taken back", `{"type":"control_cancel_request","request_id":"1"}`},
		{"a keep-alive", `{"type":"keep_alive"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := wire.Decode([]byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			got, err := wire.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := diffJSON(t, []byte(tt.line), got); diff != "" {
				t.Errorf("after a round trip (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryKindIsReadAsItself(t *testing.T) {
	for _, k := range wire.Kinds() {
		m := k.New()
		if c, ok := m.(*wire.ControlRequest); ok {
			c.Request = &wire.MCPStatus{}
		}
		line, err := wire.Encode(m)
		if err != nil {
			t.Errorf("%v: %v", k.Tag, err)
			continue
		}
		back, err := wire.Decode(line)
		if err != nil {
			t.Errorf("%v: %v", k.Tag, err)
			continue
		}
		if got := back.Tag(); got != k.Tag {
			t.Errorf("%s\nis read as %v, want %v", line, got, k.Tag)
		}
		if n := strings.Count(string(line), `"type":"`+k.Tag.Type+`"`); n != 1 {
			t.Errorf("%s\nsays its type %d times", line, n)
		}
	}
}

func TestEveryRequestIsReadAsItself(t *testing.T) {
	for _, k := range wire.Requests() {
		line, err := wire.Encode(&wire.ControlRequest{RequestID: "1", Request: k.New()})
		if err != nil {
			t.Errorf("%s: %v", k.Subtype, err)
			continue
		}
		back, err := wire.Decode(line)
		if err != nil {
			t.Errorf("%s: %v", k.Subtype, err)
			continue
		}
		request := back.(*wire.ControlRequest).Request
		if u, unknown := request.(*wire.UnknownRequest); unknown || request.Subtype() != k.Subtype {
			t.Errorf("%s\nis read as %T %+v", line, request, u)
		}
	}
}

func TestWhatIsNoMessageIsAnError(t *testing.T) {
	for _, line := range []string{``, `x`, `{`, `[]`, `null`, `"type"`, `{}`, `{"type":1}`, `{"type":"user"`, `{"type":"user"}x`,
		`{"type":"user","message":3}`, `{"type":"control_request","request_id":"1"}`, `{"type":"control_request","request":[]}`} {
		if m, err := wire.Decode([]byte(line)); err == nil {
			t.Errorf("Decode(%s) = %#v, want an error", line, m)
		}
	}
}

func TestResultSaysItsTextWhenItIsASuccess(t *testing.T) {
	tests := []struct {
		name   string
		result wire.Result
		want   bool
	}{
		{"an empty text of a success", wire.Result{Subtype: wire.ResultSuccess}, true},
		{"an error", wire.Result{Subtype: wire.ResultMaxTurns, IsError: true, Errors: []string{"too many"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line, err := wire.Encode(&tt.result)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]json.RawMessage
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatal(err)
			}
			if _, ok := got["result"]; ok != tt.want {
				t.Errorf("has a result: %v, want %v\n%s", ok, tt.want, line)
			}
			for _, name := range []string{"modelUsage", "permission_denials", "usage"} {
				if v := string(got[name]); v == "" || v == "null" {
					t.Errorf("%s is %q", name, v)
				}
			}
		})
	}
}

func TestLinesAreNeverBroken(t *testing.T) {
	m := &wire.StreamEvent{Event: json.RawMessage("{\n  \"type\":\n\"ping\"\n}")}
	u := &wire.Unknown{Type: "x", Line: json.RawMessage("{\"type\":\"x\",\n\"a\":1}")}
	b := &wire.User{Message: wire.UserMessage{Content: wire.Content{Blocks: []wire.Block{{Raw: json.RawMessage("{\"type\":\n\"image\"}")}}}}}
	for _, m := range []wire.Message{m, u, b} {
		line, err := wire.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(line), "\n") {
			t.Errorf("%v has an end of line inside: %q", m.Tag(), line)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"type":"user","message":{"role":"user","content":"x"},"a":{"b":["}"]}}`)
	f.Add(`{"type":"control_request","request_id":"1","request":{"subtype":"initialize","hooks":{}}}`)
	f.Add(`{"type" : "result", "subtype":"success" , "is_error":false}`)
	f.Add(`{"a":"\u12`)
	f.Fuzz(func(t *testing.T, line string) {
		m, err := wire.Decode([]byte(line))
		if err != nil {
			return
		}
		out, err := wire.Encode(m)
		if err != nil {
			t.Fatalf("a message that was read cannot be written: %v\n%s", err, line)
		}
		if _, err := wire.Decode(out); err != nil {
			t.Fatalf("a message that was written cannot be read: %v\n%s", err, out)
		}
	})
}
