package jsonstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/text/jsonstream"
)

// typical is an input of about 300 bytes.
const typical = `{"file_path": "/home/me/project/internal/server/handler.go", "old_string": "func (s *Server) Close() error {\n\treturn s.listener.Close()\n}", "new_string": "func (s *Server) Close() error {\n\ts.cancel()\n\treturn errors.Join(s.listener.Close(), s.wait())\n}", "replace_all": false, "limit": 12}`

// read closes an Object that was given input in chunks of size bytes.
func read(input string, size int, opts *jsonstream.Options) (json.RawMessage, error) {
	o := jsonstream.New(opts)
	for chunk := range slices.Chunk([]byte(input), size) {
		o.Write(chunk) // the error sticks and comes back from Close
	}
	return o.Close()
}

func TestEmptyInputMeansAnEmptyObject(t *testing.T) {
	for _, input := range []string{"", " \r\n\t", "{}", " { } "} {
		o := jsonstream.New(nil)
		o.WriteString(input)
		got, err := o.Close()
		if err != nil || len(strings.ReplaceAll(string(got), " ", "")) != 2 {
			t.Errorf("%q: %q, %v", input, got, err)
		}
	}
}

func TestTheFirstErrorSticksAndRawKeepsGrowing(t *testing.T) {
	o := jsonstream.New(&jsonstream.Options{MaxBytes: 12})
	for _, chunk := range []string{`{"a":x`, `,"b":`, `1}}}}}}`} {
		o.WriteString(chunk)
	}
	_, err := o.Close()
	var e *jsonstream.Error
	if !errors.As(err, &e) || e.Kind != jsonstream.Malformed || e.Offset != 5 || e.Path != "a" || e.Size != 18 {
		t.Errorf("err = %#v", err)
	}
	if got := string(o.Raw()); got != `{"a":x,"b":1` {
		t.Errorf("raw = %s", got)
	}
}

func TestWriteCountsWhatItKept(t *testing.T) {
	o := jsonstream.New(&jsonstream.Options{MaxBytes: 4})
	if n, err := o.WriteString("{"); n != 1 || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	if n, err := o.WriteString("      "); n != 3 || err == nil {
		t.Errorf("Write past the cap = %d, %v", n, err)
	}
}

func TestNothingMayFollowClose(t *testing.T) {
	for _, input := range []string{"", "{}", `{"a`} {
		o := jsonstream.New(nil)
		o.WriteString(input)
		o.Close()
		if _, err := o.WriteString(`{"b":1}`); err == nil {
			t.Errorf("%q: more was accepted after Close", input)
		}
	}
}

func TestHandedOutBytesDoNotChange(t *testing.T) {
	o := jsonstream.New(nil)
	o.WriteString(`{"a":"tw`)
	raw := o.Raw()
	_ = append(raw, "clobber"...)
	rest := strings.Repeat("o", 4096) + `","c":"three"}`
	o.WriteString(rest)
	whole, err := o.Close()
	if string(raw) != `{"a":"tw` || err != nil || string(whole) != `{"a":"tw`+rest {
		t.Errorf("changed: %s, %v", raw, err)
	}
}

// A quadratic key set needs five thousand million comparisons here.
func TestManyKeysStayFast(t *testing.T) {
	const n = 100_000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"key-%08d":0,`, i)
	}
	keys := b.String()
	start := time.Now()
	for _, input := range []string{
		`{` + keys + `"last":0}`,
		`{"nested":{` + keys + `"last":0}}`,
		`{"after":[{` + keys + `"last":0}` + strings.Repeat(`,{"a":0}`, n) + `]}`,
	} {
		if _, err := read(input, 1<<10, nil); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
	_, err := read(`{`+keys+`"key-0000000\u0037":0}`, 1<<10, nil)
	var e *jsonstream.Error
	if !errors.As(err, &e) || e.Kind != jsonstream.DuplicateKey {
		t.Errorf("err = %v, want a duplicate key", err)
	}
}

func TestDepthIsBoundedByTheOptionOnly(t *testing.T) {
	nested := func(depth int) string {
		return `{"a":` + strings.Repeat(`[`, depth-1) + `0` + strings.Repeat("]", depth-1) + `}`
	}
	for _, test := range []struct {
		max, depth int
		ok         bool
	}{{0, 128, true}, {0, 129, false}, {1, 1, true}, {1, 2, false}, {1_000_000, 1_000_000, true}} {
		_, err := read(nested(test.depth), 1<<10, &jsonstream.Options{MaxDepth: test.max})
		if (err == nil) != test.ok {
			t.Errorf("depth %d of %d: %v", test.depth, test.max, err)
		}
	}
}

func TestATypicalInputAllocatesLittle(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { read(typical, 14, nil) }); n > 20 {
		t.Errorf("%v allocations", n)
	}
}
