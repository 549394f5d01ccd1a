package plainjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// What the parts of a value are is what the standard library finds.
func FuzzParts(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, ` { "a" : 1 , "b\u00fc":[ {"c":"]}"} ] } `, `[ 1,"a,b",{"x":[]} ,null]`, `{"a":1,"a":2}`, `{"a":1`, `{"a" 1}`, `[1 2]`, `{}x`, `1`, `"a"`, `"a\n\t\"\\\/\r\b\fé"`, `"\u00e9\n"`, `"\x"`, `"a\"`, `{"\xff":"\xff"}`, "{\"\xff\":\"\xff\"}", ``,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		got, elements := map[string]json.RawMessage{}, []json.RawMessage{}
		err := plainjson.Members([]byte(s), func(name string, value []byte) error {
			got[name] = value
			return nil
		})
		if isObject := json.Unmarshal([]byte(s), &object) == nil && object != nil; isObject != (err == nil) || isObject && !reflect.DeepEqual(got, object) {
			t.Errorf("members of %q: %q, %v; want %q", s, got, err, object)
		}
		err = plainjson.Elements([]byte(s), func(value []byte) error {
			elements = append(elements, value)
			return nil
		})
		if isList := json.Unmarshal([]byte(s), &list) == nil && list != nil; isList != (err == nil) || isList && !reflect.DeepEqual(elements, list) {
			t.Errorf("elements of %q: %q, %v; want %q", s, elements, err, list)
		}
		var want string
		if json.Unmarshal([]byte(s), &want) == nil && bytes.HasPrefix([]byte(s), []byte(`"`)) && bytes.HasSuffix([]byte(s), []byte(`"`)) {
			if text, err := plainjson.Text([]byte(s)); err != nil || text != want {
				t.Errorf("%q is %q, %v; want %q", s, text, err, want)
			}
		}
	})
}

func TestPartsEndWithAnError(t *testing.T) {
	stop, n := errors.New("enough"), 0
	if err := plainjson.Elements([]byte("[1,2,3]"), func([]byte) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("%d elements, error %v", n, err)
	}
	if err := plainjson.Members([]byte(`{"a":1,"b":2}`), func(string, []byte) error { n++; return stop }); !errors.Is(err, stop) || n != 2 {
		t.Errorf("%d members, error %v", n-1, err)
	}
}
