package sse

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(r io.Reader) (events []string, err error) {
	reader := newReader(r)
	reader.limit = 1 << 20
	for {
		ev, err := reader.next()
		if err != nil {
			return events, err
		}
		events = append(events, string(ev.Name)+"|"+string(ev.Data))
	}
}

func TestReader(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name, text string
		want       []string
		err        error
	}{
		{"a name and data", "event: a\ndata: 1\n\n", []string{"a|1"}, io.EOF},
		{"no space after the colon", "event:a\ndata:1\n\n", []string{"a|1"}, io.EOF},
		{"one space belongs to the form", "data:  1\n\n", []string{"| 1"}, io.EOF},
		{"several lines of data", "data: 1\ndata: 2\n\n", []string{"|1\n2"}, io.EOF},
		{"CR LF", "event: a\r\ndata: 1\r\n\r\n", []string{"a|1"}, io.EOF},
		{"comments and other fields", ": hi\n:\nid: 7\nretry: 9\nfoo\ndata: 1\n\n", []string{"|1"}, io.EOF},
		{"a name without data is no event", "event: a\n\ndata: 1\n\n", []string{"|1"}, io.EOF},
		{"many empty lines", "\n\n\ndata: 1\n\n\n\n", []string{"|1"}, io.EOF},
		{"empty data", "data\n\ndata:\n\n", []string{"|", "|"}, io.EOF},
		{"a byte order mark", "\ufeffdata: 1\n\n", []string{"|1"}, io.EOF},
		{"long lines", "data: " + big + "\n\ndata: 2\n\n", []string{"|" + big, "|2"}, io.EOF},
		{"an end within an event", "data: 1\n\ndata: 2\n", []string{"|1"}, io.ErrUnexpectedEOF},
		{"an end within a line", "data: 1\n\nda", []string{"|1"}, io.ErrUnexpectedEOF},
		{"a comment at the end", "data: 1\n\n: bye\n", []string{"|1"}, io.EOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := read(strings.NewReader(c.text))
			if diff := cmp.Diff(c.want, got); diff != "" || err != c.err {
				t.Errorf("%v, events (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestEndlessEventsEnd(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"a line":         io.MultiReader(strings.NewReader("data: "), endless("x")),
		"many lines":     endless("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"),
		"no data at all": io.LimitReader(endless(": x\n"), 1<<20),
	} {
		if _, err := read(r); err != errTooLarge && err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// endless repeats itself.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	if n == 0 {
		n = copy(p, e[:min(len(p), len(e))])
	}
	return n, nil
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: 1\n\n: c\ndata\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		want, wantErr := read(bytes.NewReader(raw))
		got, err := read(io.MultiReader(bytes.NewReader(raw[:len(raw)/2]), bytes.NewReader(raw[len(raw)/2:])))
		if diff := cmp.Diff(want, got); diff != "" || err != wantErr {
			t.Errorf("in two pieces %v, %v:\n%s", wantErr, err, diff)
		}
		for _, ev := range want {
			if name, _, _ := strings.Cut(ev, "|"); strings.Contains(name, "\n") {
				t.Errorf("a name with a line break: %q", name)
			}
		}
	})
}
