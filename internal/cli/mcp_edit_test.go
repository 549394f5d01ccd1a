package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSettingsAreChangedInPlace(t *testing.T) {
	found := false
	put := putServer("new", json.RawMessage(`{"command":"x","args":["y"]}`))
	tests := []struct {
		name, before string
		change       edit
		want         string
	}{
		{"a new file", "", put, "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"y\"\n      ]\n    }\n  }\n}\n"},
		{"comments, tabs and a trailing comma stay",
			"{\n\t// mine\n\t\"model\": \"x\",\n\t\"mcpServers\": {\n\t\t\"old\": {\"command\":\"o\"}, // keep\n\t},\n}\n", put,
			"{\n\t// mine\n\t\"model\": \"x\",\n\t\"mcpServers\": {\n\t\t\"old\": {\"command\":\"o\"}, // keep\n\t\t\"new\": {\n\t\t\t\"command\": \"x\",\n\t\t\t\"args\": [\n\t\t\t\t\"y\"\n\t\t\t]\n\t\t}\n\t},\n}\n"},
		{"a file of one line stays one", `{"a":1,"mcpServers":{}}`, put, `{"a":1,"mcpServers":{"new":{"command":"x","args":["y"]}}}`},
		{"a name that a pointer must escape", `{"a":1,"mcpServers":{}}`, putServer("a/b~c", json.RawMessage(`{}`)), `{"a":1,"mcpServers":{"a/b~c":{}}}`},
		{"an entry is removed", "{\n  \"mcpServers\": {\n    \"a\": {}, // first\n    \"b\": {}\n  }\n}\n", dropServer("b", &found), "{\n  \"mcpServers\": {\n    \"a\": {} // first\n  }\n}\n"},
		{"what is not there is not removed", `{"mcpServers":{}}`, dropServer("b", &found), `{"mcpServers":{}}`},
		{"a server is switched off", `{"a":1,"mcpServers":{"a":{"command":"x"}}}`, switchEntry("a", true), `{"a":1,"mcpServers":{"a":{"command":"x","disabled":true}}}`},
		{"and on again", `{"a":1,"mcpServers":{"a":{"command":"x","disabled":true}}}`, switchEntry("a", false), `{"a":1,"mcpServers":{"a":{"command":"x"}}}`},
		{"a project's server is switched off", `{"a":1,"disabledMcpjsonServers":["x"]}`, switchProject("y", true), `{"a":1,"disabledMcpjsonServers":["x","y"]}`},
		{"and on again, the last one", `{"a":1,"disabledMcpjsonServers":["y"]}`, switchProject("y", false), `{"a":1}`},
		{"twice off is once", `{"disabledMcpjsonServers":["y"]}`, switchProject("y", true), `{"disabledMcpjsonServers":["y"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := patched([]byte(tt.before), tt.change)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
	for _, text := range []string{"{", "[]", "null", `{"a":1}}`} {
		if got, err := patched([]byte(text), put); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}
