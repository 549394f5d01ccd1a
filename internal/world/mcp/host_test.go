package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/haftdev/haft/internal/world/mcp"
)

func TestAnOutputIsWrittenAsOnTheWire(t *testing.T) {
	block := json.RawMessage(`{"type":"text","text":"hi"}`)
	for want, out := range map[string]mcp.Output{
		`[]`:                            {},
		`[{"type":"text","text":"hi"}]`: {Content: []json.RawMessage{block}},
		`{"content":[],"structuredContent":{"a":1}}`: {Structured: json.RawMessage(`{"a":1}`)},
	} {
		if got, err := json.Marshal(out); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
