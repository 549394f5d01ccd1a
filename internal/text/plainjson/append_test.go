package plainjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// The standard library says what is right.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{
		``, `a`, "\x00\x1f\x7f\b\f\n\r\t\"\\/", "ü\u2028\u2029\ufffd\xff\xc3", "<a&b>",
		` {"a" : [ 1 , -0.5e+3, true,false ,null ] , "b\u00e4\n":{ } } `, `[]`, `{}`, `"\ud800"`, `"\u12g4"`, `"\u12`, `"\`, `"\x"`, "\"\n\"", `"a`,
		`01`, `-`, `1.`, `.5`, `1e`, `1e+`, `-0`, `0.0E-0`, `1 2`, `{"a":1,}`, `[1,]`, `{"a"}`, `{a:1}`, `{"a":}`, `{1:2}`, `tru`, `nullx`, `[`, `{`, `]`, ` `, `,`,
		"[\v1]", "\ufeff1", `{"a":1,"a":2}`,
		strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := plainjson.AppendString([]byte("before"), s); string(got)+"\n" != "before"+want.String() {
			t.Errorf("%q is %s, want %s", s, got[len("before"):], want.Bytes())
		}
		if plainjson.Valid([]byte(s)) != json.Valid([]byte(s)) {
			t.Errorf("%.100q is valid: %v", s, !json.Valid([]byte(s)))
		}
		want.Reset()
		err := json.Compact(&want, []byte(s))
		got, ours := plainjson.AppendCompact([]byte("before"), []byte(s))
		if (err == nil) != (ours == nil) || err == nil && string(got) != "before"+want.String() {
			t.Errorf("%.100q is compacted to %.100q (%v), want %.100q (%v)", s, got, ours, want.String(), err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	text := strings.Repeat("if a < b && c > \"d\" {\n\treturn nil // größe\n}\n", 100)
	raw, err := json.Marshal(map[string]any{"content": text, "list": []int{1, 2, 3}, "more": map[string]string{"a": text}})
	if err != nil {
		b.Fatal(err)
	}
	for name, f := range map[string]func(){
		"string":          func() { plainjson.AppendString(nil, text) },
		"string, library": func() { _, _ = json.Marshal(text) },
		"valid":           func() { plainjson.Valid(raw) },
		"valid, library":  func() { json.Valid(raw) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
}

// Strings are read eight bytes at a time; what is special must be seen in each of the eight places.
func TestSpecialBytesAreSeenInEveryPlace(t *testing.T) {
	for at := range 20 {
		for c := range 256 {
			raw := []byte(`"abcdefghijklmnopqrstuv"`)
			raw[1+at] = byte(c)
			if got, want := plainjson.Valid(raw), json.Valid(raw); got != want {
				t.Fatalf("%q: valid %v, want %v", raw, got, want)
			}
		}
	}
}
