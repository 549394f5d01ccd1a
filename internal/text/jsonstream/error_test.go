package jsonstream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/text/jsonstream"
)

var faults = []struct {
	name  string
	input string
	kind  jsonstream.Kind
}{
	{"a stray character after a number", `{"file_path": "/src/main.go", "limit": 5x, "offset": 3}`, jsonstream.Malformed},
	{"an unescaped quote inside a string", `{"content": "say "hello" to them", "file_path": "/a"}`, jsonstream.Malformed},
	{"a missing comma between fields", `{"limit": 5 "offset": 3}`, jsonstream.Malformed},
	{"a missing comma between elements", `{"edits": [{"old": "a"} {"old": "b"}]}`, jsonstream.Malformed},
	{"the wrong bracket", `{"edits": [1, 2}}`, jsonstream.Malformed},
	{"a comma before the end of an object", `{"a": 1, }`, jsonstream.Malformed},
	{"a comma before the end of an array", `{"a": [1, 2,]}`, jsonstream.Malformed},
	{"no field name", `{: 1}`, jsonstream.Malformed},
	{"a bare field name", `{limit: 5}`, jsonstream.Malformed},
	{"a field name in single quotes", `{'limit': 5}`, jsonstream.Malformed},
	{"a field name in curly quotes", `{“limit”: 5}`, jsonstream.Malformed},
	{"no colon", `{"limit" 5}`, jsonstream.Malformed},
	{"no value", `{"limit": , "offset": 3}`, jsonstream.Malformed},
	{"a Python literal", `{"replace_all": True}`, jsonstream.Malformed},
	{"a misspelt literal", `{"replace_all": trye}`, jsonstream.Malformed},
	{"a bare word", `{"edits": [{"old": "x"}, {"old": foo}]}`, jsonstream.Malformed},
	{"a bare word in the second of two arrays", `{"rows": [[1, 2], [0, bar]]}`, jsonstream.Malformed},
	{"a bare word in an array", `{"names": [foo]}`, jsonstream.Malformed},
	{"a comment", "{\"a\": 1, // first\n\"b\": 2}", jsonstream.Malformed},
	{"a leading zero", `{"limit": 007}`, jsonstream.Malformed},
	{"a plus sign", `{"limit": +7}`, jsonstream.Malformed},
	{"a point without digits", `{"limit": 7.}`, jsonstream.Malformed},
	{"an exponent without digits", `{"limit": 7e}`, jsonstream.Malformed},
	{"a raw line break in a string", "{\"content\": \"one\ntwo\"}", jsonstream.Malformed},
	{"a raw tab in a field name", "{\"edits\": [{\"old\tstring\": 1}]}", jsonstream.Malformed},
	{"a raw carriage return in a string", "{\"content\": \"one\r\ntwo\x7f\"}", jsonstream.Malformed},
	{"a raw escape character in a string", "{\"content\": \"\x1b[31mred\"}", jsonstream.Malformed},
	{"an unknown escape", `{"pattern": "\d+\.go"}`, jsonstream.Malformed},
	{"a bad hexadecimal digit", `{"path": "C:\users\me"}`, jsonstream.Malformed},
	{"a high surrogate alone", `{"edits": [{"new": "wave \ud83d!"}]}`, jsonstream.Malformed},
	{"a high surrogate and another escape", `{"new": "\ud83d\n"}`, jsonstream.Malformed},
	{"a high surrogate and no low one", `{"new": "\ud83d\u0041"}`, jsonstream.Malformed},
	{"a low surrogate alone", `{"new": "\ude00"}`, jsonstream.Malformed},
	{"a Latin-1 byte", "{\"content\": \"caf\xe9 au lait\"}", jsonstream.Malformed},
	{"an overlong rune", "{\"content\": \"\xc0\xaf\"}", jsonstream.Malformed},
	{"an overlong rune of three bytes", "{\"content\": \"\xe0\x80\xaf\"}", jsonstream.Malformed},
	{"an overlong rune of four bytes", "{\"content\": \"\xf0\x8f\xbf\xbf\"}", jsonstream.Malformed},
	{"a surrogate in UTF-8", "{\"content\": \"\xed\xa0\xbd\"}", jsonstream.Malformed},
	{"a fault far into text of several bytes a rune", `{"content": "` + strings.Repeat("日本語", 12) + `" x` + strings.Repeat("日本語", 12) + `"}`, jsonstream.Malformed},
	{"a fault under odd keys", `{"a.b": {"": {"line
break": [[0, x]]}}}`, jsonstream.Malformed},
	{"a fault under odd keys that are written well", `{"a.b": {"": {"x\ny": [[0, x]]}}}`, jsonstream.Malformed},
	{"a fault under a very long key", `{"` + strings.Repeat("long", 20) + `": x}`, jsonstream.Malformed},

	{"cut inside a long string", `{"file_path": "/src/main.go", "content": "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Pri`, jsonstream.Truncated},
	{"cut inside a nested string", `{"edits": [{"old": "a"}, {"old": "b`, jsonstream.Truncated},
	{"cut inside a field name", `{"limit": 5, "off`, jsonstream.Truncated},
	{"cut after a field name", `{"limit"`, jsonstream.Truncated},
	{"cut before a value", `{"limit":`, jsonstream.Truncated},
	{"cut inside a number", `{"limit": 5`, jsonstream.Truncated},
	{"cut inside a literal", `{"replace_all": tr`, jsonstream.Truncated},
	{"cut after a value", `{"path": "/a"`, jsonstream.Truncated},
	{"cut after a comma", `{"path": "/a",`, jsonstream.Truncated},
	{"cut inside an array", `{"edits": [`, jsonstream.Truncated},
	{"cut after an element", `{"edits": [[1]`, jsonstream.Truncated},
	{"cut inside a rune", "{\"content\": \"caf\xc3", jsonstream.Truncated},
	{"only a brace", `{`, jsonstream.Truncated},

	{"an array", `[{"file_path": "/a"}]`, jsonstream.NotObject},
	{"an object inside a string", `"{\"file_path\": \"/a\"}"`, jsonstream.NotObject},
	{"a number", `42`, jsonstream.NotObject},
	{"null", `null`, jsonstream.NotObject},
	{"a code fence", "```json\n{\"file_path\": \"/a\"}\n```", jsonstream.NotObject},
	{"a byte order mark", "\uFEFF{}", jsonstream.NotObject},

	{"two objects", `{"file_path": "/a"}{"file_path": "/b"}`, jsonstream.TrailingData},
	{"a bracket too many", `{"edits": [{"old": "a"}]}}`, jsonstream.TrailingData},
	{"words after the object", "{\"file_path\": \"/a\"}\n\nThis reads the file.", jsonstream.TrailingData},

	{"a field twice", `{"file_path": "/a", "file_path": "/etc/passwd"}`, jsonstream.DuplicateKey},
	{"a field twice in disguise", `{"file_path": "/a", "file\u005fpath": "/etc/passwd"}`, jsonstream.DuplicateKey},
	{"a nested field twice", `{"edits": [{"old": "a", "new": "b", "old": "c"}]}`, jsonstream.DuplicateKey},

	{"nesting beyond the limit", `{"a": ` + strings.Repeat(`[`, 140), jsonstream.TooDeep},
	{"length beyond the limit", `{"file_path": "/a", "content": "` + strings.Repeat("x", 300) + `"}`, jsonstream.TooLarge},
}

// The golden file is read as a model would read it: each text must say what is wrong,
// where, and what to send instead.
func TestErrorTexts(t *testing.T) {
	var b strings.Builder
	b.WriteString("What the model is told about each kind of bad input (MaxBytes is 300).\n")
	for _, fault := range faults {
		_, err := read(fault.input, len(fault.input), &jsonstream.Options{MaxBytes: 300})
		var e *jsonstream.Error
		if !errors.As(err, &e) || e.Kind != fault.kind {
			t.Errorf("%s: %v, want kind %v", fault.name, err, fault.kind)
			continue
		}
		fmt.Fprintf(&b, "\n-- %s (%v) --\ninput: %#q\nerror: %v\n", fault.name, e.Kind, fault.input, err)
	}
	golden.Check(t, "testdata/errors.golden", b.String())
}

func TestErrorsDoNotDependOnTheChunks(t *testing.T) {
	opts := &jsonstream.Options{MaxBytes: 300}
	for _, fault := range faults {
		_, want := read(fault.input, len(fault.input), opts)
		for size := 1; size <= 7; size++ {
			if _, err := read(fault.input, size, opts); err == nil || err.Error() != want.Error() {
				t.Errorf("%s in chunks of %d:\n got %v\nwant %v", fault.name, size, err, want)
			}
		}
	}
}

func TestErrorTextsAreBoundedPrintableUTF8(t *testing.T) {
	period := "\x00\xff\xe6\x97é日😀\u202e\n"
	junk := strings.Repeat(period, 50)
	for cut := range len(period) {
		for _, input := range []string{`[` + junk[cut:], "\xff" + junk[cut:], `{"` + junk[cut:], `{}x` + junk[cut:], `{"日": "` + strings.Repeat("日", 30) + `"` + junk[cut:]} {
			_, err := read(input, 5, nil)
			if err == nil {
				t.Fatalf("%q was accepted", input)
			}
			text := err.Error()
			if len(text) > 1000 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\n\u202e") {
				t.Fatalf("%d bytes: %q", len(text), text)
			}
		}
	}
}
