package jsonstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
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

func TestFieldsAreReportedAsSoonAsTheyAreComplete(t *testing.T) {
	o := jsonstream.New(nil)
	for _, step := range []struct {
		chunk   string
		done    []string
		current *jsonstream.Partial
	}{
		{` {"file_pa`, nil, nil},
		{`th"`, nil, &jsonstream.Partial{Name: "file_path"}},
		{`: "/a/`, nil, &jsonstream.Partial{Name: "file_path", Text: "/a/", Raw: json.RawMessage(`"/a/`)}},
		{`b"`, []string{`file_path="/a/b"`}, nil},
		{`, "limit": 1`, []string{`file_path="/a/b"`}, &jsonstream.Partial{Name: "limit", Raw: json.RawMessage(`1`)}},
		{`2`, []string{`file_path="/a/b"`}, &jsonstream.Partial{Name: "limit", Raw: json.RawMessage(`12`)}},
		{` `, []string{`file_path="/a/b"`, `limit=12`}, nil},
		{`,"edits":[{"old":"x`, []string{`file_path="/a/b"`, `limit=12`}, &jsonstream.Partial{Name: "edits", Raw: json.RawMessage(`[{"old":"x`)}},
		{`"}]`, []string{`file_path="/a/b"`, `limit=12`, `edits=[{"old":"x"}]`}, nil},
	} {
		if _, err := o.WriteString(step.chunk); err != nil {
			t.Fatal(err)
		}
		if got := done(o); !slices.Equal(got, step.done) {
			t.Errorf("after %q: complete %q, want %q", step.chunk, got, step.done)
		}
		got, ok := o.Current()
		if ok != (step.current != nil) || ok && !reflect.DeepEqual(got, *step.current) {
			t.Errorf("after %q: current %+v, want %+v", step.chunk, got, step.current)
		}
		if o.Complete() {
			t.Errorf("after %q: complete too early", step.chunk)
		}
	}
	o.WriteString("}\n")
	whole, err := o.Close()
	if want := `{"file_path": "/a/b", "limit": 12 ,"edits":[{"old":"x"}]}`; err != nil || string(whole) != want || !o.Complete() {
		t.Errorf("Close = %s, %v, want %s", whole, err, want)
	}
}

func done(o *jsonstream.Object) []string {
	var fields []string
	for name, value := range o.Fields() {
		fields = append(fields, fmt.Sprintf("%s=%s", name, value))
	}
	return fields
}

func TestFieldFindsOnlyCompleteFields(t *testing.T) {
	o := jsonstream.New(nil)
	var b strings.Builder
	for i := range 20 { // more than are searched without an index
		fmt.Fprintf(&b, `%c"k%d":%d`, "{,"[min(i, 1)], i, i)
	}
	o.WriteString(b.String())
	if v, ok := o.Field("k18"); !ok || string(v) != "18" {
		t.Errorf("k18 = %s, %t", v, ok)
	}
	for name := range o.Fields() {
		if name != "k0" {
			t.Errorf("the first field is %q", name)
		}
		break
	}
	for _, name := range []string{"k19", "k20", ""} { // arriving, never sent, never sent
		if v, ok := o.Field(name); ok {
			t.Errorf("%q = %s before it is complete", name, v)
		}
	}
}

func TestTextGrowsByWholeRunes(t *testing.T) {
	o := jsonstream.New(nil)
	var got []string
	for _, c := range []byte(`{"t":"é\n\u00e9\ud83d\ude00😀"`) {
		o.Write([]byte{c})
		if p, ok := o.Current(); ok && (len(got) == 0 || got[len(got)-1] != p.Text) {
			got = append(got, p.Text)
		}
	}
	want := []string{"", "é", "é\n", "é\né", "é\né😀", "é\né😀😀"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if v, _ := o.Field("t"); string(v) != `"é\n\u00e9\ud83d\ude00😀"` {
		t.Errorf("t = %s", v)
	}
}

func TestEmptyInputMeansAnEmptyObject(t *testing.T) {
	for _, input := range []string{"", " \r\n\t", "{}", " { } "} {
		o := jsonstream.New(nil)
		o.WriteString(input)
		got, err := o.Close()
		if err != nil || len(strings.ReplaceAll(string(got), " ", "")) != 2 || !o.Complete() {
			t.Errorf("%q: %q, %v, complete %t", input, got, err, o.Complete())
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
	if p, _ := o.Current(); o.Complete() || p.Name != "a" || len(p.Raw) != 0 {
		t.Errorf("complete is %t, current %+v", o.Complete(), p)
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
	o.WriteString(`{"a":"one","b":"tw`)
	a, _ := o.Field("a")
	b, _ := o.Current()
	raw := o.Raw()
	_ = append(a, "clobber"...)
	_ = append(raw, "clobber"...)
	o.WriteString(strings.Repeat("o", 4096) + `","c":"three"}`)
	if string(a) != `"one"` || b.Text != "tw" || string(b.Raw) != `"tw` || string(raw) != `{"a":"one","b":"tw` {
		t.Errorf("changed: %s %s %s %s", a, b.Text, b.Raw, raw)
	}
	if _, err := o.Close(); err != nil || len(done(o)) != 3 {
		t.Errorf("the input was clobbered: %v", err)
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

func TestCurrentDoesNotAllocate(t *testing.T) {
	o := jsonstream.New(nil)
	o.WriteString(`{"content":"` + strings.Repeat(`line\n`, 10_000))
	if n := testing.AllocsPerRun(100, func() { o.Current() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestATypicalInputAllocatesLittle(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { read(typical, 14, nil) }); n > 20 {
		t.Errorf("%v allocations", n)
	}
}
