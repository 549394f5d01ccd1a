package gate_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/mcp/gate"
)

func TestResultsAreKeptForATicket(t *testing.T) {
	g := gate.New(nil)
	g.Sent([]byte(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{}}`))
	m, ok := g.Admit([]byte(`{"jsonrpc":"2.0","id":"4","result":{"content":[{"type":"odd"}]}}`))
	if !ok || string(m.ID) != "4" {
		t.Fatalf("%+v %v", m, ok)
	}
	var empty struct {
		Meta    map[string]any `json:"_meta"`
		Content []any          `json:"content"`
	}
	if err := json.Unmarshal(m.Result, &empty); err != nil || len(empty.Content) != 0 {
		t.Fatalf("%s %v", m.Result, err)
	}
	raw, ok := g.Redeem(empty.Meta)
	if !ok || string(raw) != `{"content":[{"type":"odd"}]}` {
		t.Errorf("%s %v", raw, ok)
	}
	if _, ok := g.Redeem(empty.Meta); ok {
		t.Error("a ticket was good twice")
	}
}

func TestWhatIsAdmitted(t *testing.T) {
	sent := func(method string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, method) }
	for _, c := range []struct{ name, sent, came, want string }{
		{"a question to the library passes", sent("tools/call"), `{"id":1,"result":{"resultType":"input_required","inputRequests":{}}}`, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{}}}`},
		{"an error that is a text becomes one", sent("ping"), `{"id":1,"error":"no"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"\"no\""}}`},
		{"an error keeps its data", sent("ping"), `{"id":1,"error":{"code":-1,"message":"m","data":[1]}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":[1]}}`},
		{"an answer to another question stays outside", sent("ping"), `{"id":2,"result":{}}`, ""},
		{"an answer to a cancelled one too", `{"method":"notifications/cancelled","params":{"requestId":1}}`, `{"id":1,"result":{}}`, ""},
		{"a form keeps the order of its fields", "{}", `{"id":7,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"properties":{"b":{},"a":{}}, "x-haft-order":["z"] } }}`,
			`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"properties":{"b":{},"a":{}}, "x-haft-order":["z"] ,"x-haft-order":["b","a"]} }}`},
		{"a form without fields stays as it is", "{}", `{"id":7,"method":"elicitation/create","params":{"requestedSchema":3}}`, `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"requestedSchema":3}}`},
		{"a notification passes", "{}", `{"method":"notifications/x","params":{"a":1}}`, `{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1}}`},
	} {
		g := gate.New(nil)
		g.Sent([]byte(c.sent))
		got := ""
		if m, ok := g.Admit([]byte(c.came)); ok {
			got = string(gate.Encode(m))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
