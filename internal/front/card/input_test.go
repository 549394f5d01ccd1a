package card_test

import (
	"encoding/json"
	"testing"

	"github.com/haftdev/haft/internal/front/card"
)

func TestInputForPeople(t *testing.T) {
	for _, c := range []struct{ input, line string }{
		{`{"command":"make it","timeout":5}`, "command: make it, timeout: 5"},
		{`{"z":"first","a":["b"]}`, `z: first, a: ["b"]`},
		{`{"command":"one\ntwo"}`, "one two"},
		{`{}`, ""},
		{`["a"]`, `["a"]`},
		{`{"a":`, `{"a":`},
		{`{"command":"ok\u001b[2K   "}`, `ok\u{1b}[2K`},
		{``, ""},
	} {
		if got := card.Line(json.RawMessage(c.input)); got != c.line {
			t.Errorf("Line(%s) = %q, want %q", c.input, got, c.line)
		}
	}
}
