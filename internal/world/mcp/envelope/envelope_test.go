package envelope_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
)

func TestScanFindsTheParts(t *testing.T) {
	m, err := envelope.Scan([]byte(` {"jsonrpc":"2.0","id":"7","result":{"a":"\"}","b":[1,{"id":2}]}} `))
	if err != nil {
		t.Fatal(err)
	}
	want := envelope.Message{ID: json.RawMessage(`"7"`), Result: json.RawMessage(`{"a":"\"}","b":[1,{"id":2}]}`)}
	if d := cmp.Diff(want, m); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n, ok := m.Number(); !ok || n != 7 || !m.IsResponse() {
		t.Errorf("number %d %v", n, ok)
	}
}

func TestWhatIsNoMessageIsSaid(t *testing.T) {
	for _, bad := range []string{"", "hello", `[1]`, `5`, `{"jsonrpc":"2.0"}`, `{"id":1}`, `{"method":5,"id":1}`, `{"result":1`} {
		if m, err := envelope.Scan([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, m)
		}
	}
}

func TestTheIDIsFoundInACutMessage(t *testing.T) {
	for cut, want := range map[string]string{
		`{"jsonrpc":"2.0","id":12,"result":{"content":"aaaa`: "12",
		`{"id":"x","result":"aaaa`:                           `"x"`,
		`{"result":{"content":"aaaa`:                         "",
		`{"jsonrpc":"2.0","id":1`:                            "",
		`[1`:                                                 "",
	} {
		if got := string(envelope.IDOf([]byte(cut))); got != want {
			t.Errorf("%s: id %q, want %q", cut, got, want)
		}
	}
}

// FuzzScan holds the scanner against encoding/json.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"id":1,"method":"a","params":{"x":[1,2]}}`, `{"id":null,"error":{"code":1}}`, `{"a\"":"\\","result":"\\\""}`, `{"result" : [ ] , "id" : 1.0 }`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		envelope.IDOf(data)
		m, err := envelope.Scan(data)
		var fields map[string]json.RawMessage
		if json.Unmarshal(data, &fields) != nil || fields == nil { // null is no object
			if err == nil {
				t.Fatalf("%q is no object and was read as %+v", data, m)
			}
			return
		}
		got := map[string]json.RawMessage{}
		for key, value := range envelope.Fields(data) {
			var s string
			if json.Unmarshal([]byte(`"`+key+`"`), &s) != nil || s != key {
				return // a key that needs escapes: names are compared by encoding/json's own rules
			}
			got[key] = value
		}
		if d := cmp.Diff(fields, got); d != "" {
			t.Errorf("fields of %q (-want +got):\n%s", data, d)
		}
	})
}
