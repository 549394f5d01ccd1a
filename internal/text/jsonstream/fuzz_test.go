package jsonstream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/jsonstream"
)

// FuzzObject holds Object against encoding/json on the same bytes, cut into random
// chunks: the same verdict but for the documented differences, the fault at the same
// byte, and the same object.
func FuzzObject(f *testing.F) {
	for _, fault := range faults {
		f.Add([]byte(fault.input), uint64(1))
	}
	for _, s := range []string{
		typical, ``, ` `, `{}`, "\t{ }\r\n",
		`{"a":0,"b":-0,"c":-1.5E+10,"d":1e5,"e":0.25e-3,"f":[1,2.0,0],"g":[],"h":{}}`,
		`{"a":true,"b":false,"c":null,"d":[true,[null]],"":{"":""}}`,
		`{"t":"\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDE00é日😀","\u0061":"\ud83d\ude00"}`,
		`{"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":2}]}`,
		"{\"t\":\"\xed\xa0\x80\"}", "{\"t\":\"\xf4\x90\x80\x80\"}", "{\"t\":\"\xf0\x8f\xbf\xbf\"}", "{\"t\":\"\u2028\x7f\"}",
		`{"` + strings.Repeat(`a":[{"`, 80), `{"a":` + strings.Repeat(`[`, 127) + strings.Repeat(`]`, 127) + `}`,
	} {
		f.Add([]byte(s), uint64(len(s)))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		got, fault := stream(t, data, rand.New(rand.NewPCG(seed, 0)))
		if fault != nil {
			checkFault(t, data, fault)
			return
		}
		want := bytes.Trim(data, " \t\r\n")
		if len(want) == 0 {
			want = []byte("{}")
		} else if o := judge(data); o != (objections{}) {
			t.Fatalf("accepted, but: %+v", o)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// stream returns what an Object says about an input that comes in chunks.
func stream(t *testing.T, data []byte, random *rand.Rand) (json.RawMessage, *jsonstream.Error) {
	o := jsonstream.New(nil)
	for rest := data; len(rest) > 0; {
		n := 1 + random.IntN(min(len(rest), 1+random.IntN(20)))
		o.Write(rest[:n])
		rest = rest[n:]
	}
	whole, err := o.Close()
	if !bytes.Equal(o.Raw(), data) {
		t.Fatalf("raw %q, want %q", o.Raw(), data)
	}
	var fault *jsonstream.Error
	if err != nil && !errors.As(err, &fault) {
		t.Fatalf("%T: %v", err, err)
	}
	return whole, fault
}

// checkFault checks that an input was rejected rightly.
func checkFault(t *testing.T, data []byte, e *jsonstream.Error) {
	if text := e.Error(); !utf8.ValidString(text) || len(text) > 1000 {
		t.Fatalf("unfit to print: %q", text)
	}
	if _, whole := read(string(data), len(data), nil); whole.Error() != e.Error() {
		t.Fatalf("in chunks: %v\nin one:    %v", e, whole)
	}
	o := judge(data)
	if o == (objections{}) {
		t.Fatalf("rejected, but nothing is wrong: %v", e)
	}
	switch e.Kind {
	case jsonstream.DuplicateKey:
		if !o.duplicate || judge(data[:e.Offset]).duplicate {
			t.Fatalf("the duplicate came before byte %d", e.Offset)
		}
	case jsonstream.Truncated:
		if !o.cut {
			t.Fatalf("not truncated: %v", e)
		}
	case jsonstream.Malformed, jsonstream.TrailingData:
		if !o.utf8 && !o.surrogate && o.syntax != e.Offset+1 {
			t.Fatalf("encoding/json gives up at byte %d: %v", o.syntax-1, e)
		}
	}
	if o == (objections{duplicate: true}) && e.Kind != jsonstream.DuplicateKey ||
		o == (objections{deep: true}) && e.Kind != jsonstream.TooDeep ||
		o == (objections{notObject: true}) && e.Kind != jsonstream.NotObject {
		t.Fatalf("%+v, but: %v", o, e)
	}
}

// objections are the reasons to reject an input, found without this package.
type objections struct {
	syntax    int64 // one past the byte at which encoding/json gives up
	cut       bool  // it gives up at none, but wants more
	notObject bool
	utf8      bool
	surrogate bool // an unpaired surrogate escape
	duplicate bool
	deep      bool // deeper than the default
}

func judge(data []byte) objections {
	var o objections
	// A null byte fits nowhere, so if it is the first to be refused, the rest was fine.
	var syntax *json.SyntaxError
	errors.As(json.Unmarshal(append(bytes.Clone(data), 0), new(any)), &syntax)
	if syntax.Offset <= int64(len(data)) {
		o.syntax = syntax.Offset
	} else {
		o.cut = !json.Valid(data)
	}
	o.notObject = !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
	o.utf8 = !utf8.Valid(data)
	o.surrogate = hasLoneSurrogate(data)
	o.duplicate, o.deep = walk(data)
	return o
}

// hasLoneSurrogate may be wrong about text that is not JSON otherwise.
func hasLoneSurrogate(data []byte) bool {
	var high rune
	for len(data) > 0 {
		n, r := 1, rune(0)
		if data[0] == '\\' {
			n = min(2, len(data))
			if code, err := strconv.ParseUint(string(data[n:min(6, len(data))]), 16, 16); err == nil && n == 2 && data[1] == 'u' && len(data) >= 6 {
				n, r = 6, rune(code)
			}
		}
		switch {
		case high != 0 && utf16.DecodeRune(high, r) != utf8.RuneError:
			high, r = 0, 0
		case high != 0:
			return true
		case utf16.IsSurrogate(r) && r >= 0xDC00:
			return true
		case utf16.IsSurrogate(r):
			high = r
		}
		data = data[n:]
	}
	return false
}

// walk looks for duplicate keys and deep nesting with the tokens of encoding/json.
func walk(data []byte) (duplicate, deep bool) {
	type level struct {
		keys  map[string]bool // nil in an array
		atKey bool
	}
	var stack []level
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.Token()
		if err != nil {
			return duplicate, deep
		}
		top := &level{}
		if len(stack) > 0 {
			top = &stack[len(stack)-1]
		}
		if key, ok := token.(string); ok && top.atKey {
			duplicate = duplicate || top.keys[key]
			top.keys[key] = true
			top.atKey = false
			continue
		}
		switch token {
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
			continue
		}
		top.atKey = top.keys != nil
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{map[string]bool{}, true})
		case json.Delim('['):
			stack = append(stack, level{})
		}
		deep = deep || len(stack) > 128
	}
}
