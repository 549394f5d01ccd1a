package card

import (
	"encoding/json"
	"testing"
)

func TestInputForPeople(t *testing.T) {
	for _, c := range []struct{ input, lines, line string }{
		{`{"command":"make it","timeout":5}`, "  command: make it\n  timeout: 5\n", "command: make it, timeout: 5"},
		{`{"z":"first","a":["b"]}`, "  z: first\n  a: [\"b\"]\n", `z: first, a: ["b"]`},
		{`{"command":"one\ntwo"}`, "  command:\n    one\n    two\n", "one two"},
		{`{}`, "", ""},
		{`["a"]`, "  [\"a\"]\n", `["a"]`},
		{`{"a":`, "  {\"a\":\n", `{"a":`},
		{`{"command":"ok\u001b[2K   "}`, "  command: ok\\u{1b}[2K␠␠␠\n", `ok\u{1b}[2K`},
		{``, "  \n", ""},
	} {
		if got := Lines(json.RawMessage(c.input), "  "); got != c.lines {
			t.Errorf("Lines(%s) = %q, want %q", c.input, got, c.lines)
		}
		if got := Line(json.RawMessage(c.input)); got != c.line {
			t.Errorf("Line(%s) = %q, want %q", c.input, got, c.line)
		}
	}
}
