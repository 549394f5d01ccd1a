//go:build unix

package acp_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The guide says of every method, update, stop reason and error of the official schema what
// haft does with it.
func TestTheGuideCoversTheSchema(t *testing.T) {
	raw, err := os.ReadFile("testdata/schema.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	type variant struct {
		Const      any
		Properties map[string]struct{ Const string }
	}
	var doc struct {
		Defs map[string]struct {
			Method       string `json:"x-method"`
			OneOf, AnyOf []variant
		} `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../../docs/acp.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for name, def := range doc.Defs {
		if def.Method != "" {
			want[def.Method] = "the method of " + name
		}
	}
	for _, v := range doc.Defs["SessionUpdate"].OneOf {
		want[v.Properties["sessionUpdate"].Const] = "an update"
	}
	for _, v := range doc.Defs["StopReason"].OneOf {
		want[v.Const.(string)] = "a stop reason"
	}
	for _, v := range doc.Defs["ErrorCode"].AnyOf {
		if code, ok := v.Const.(float64); ok {
			want[strconv.Itoa(int(code))] = "an error"
		}
	}
	if len(want) < 40 {
		t.Fatalf("the schema was not understood: %v", want)
	}
	for word, what := range want {
		if !strings.Contains(string(guide), word) {
			t.Errorf("docs/acp.md does not say what becomes of %s, %s", word, what)
		}
	}
}

// Methods that only the unstable schema of the same library has are refused as unknown,
// unless haft offers them.
func TestUnstableMethods(t *testing.T) {
	p := newPlayer(t, `{"turns":[]}`)
	p.begin(`{}`)
	for _, method := range []string{"auth/status", "mcp/message", "providers/list", "providers/set", "providers/disable", "session/archive", "session/unarchive", "session/status", "proxy/initialize", "proxy/successor", "session/no_such_thing"} {
		if m := p.call(method, `{"sessionId":"$SESSION"}`); code(m) != -32601 {
			t.Errorf("%s: %v", method, m)
		}
	}
	for _, method := range []string{"session/fork", "session/set_title"} {
		if m := p.call(method, `{"sessionId":"none","cwd":"/","title":"x","mcpServers":[]}`); code(m) == -32601 {
			t.Errorf("%s: %v", method, m)
		}
	}
	p.close()
}
