package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/wire"
)

func TestReaderGoesOnAfterBadLines(t *testing.T) {
	in := "\n  \r\n{\"type\":\"keep_alive\"}\r\nnot json\n{\"type\":\"weather\"}\n{\"no\":\"type\"}\n{\"type\":\"keep_alive\"}"
	var got []string
	for m, err := range wire.NewReader(iotest.OneByteReader(strings.NewReader(in))).All() {
		bad := (*wire.LineError)(nil)
		switch {
		case errors.As(err, &bad):
			got = append(got, fmt.Sprintf("line %d is bad: %s", bad.Line, bad.Excerpt))
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, m.Tag().String())
		}
	}
	want := []string{"keep_alive", "line 4 is bad: not json", "weather", `line 6 is bad: {"no":"type"}`, "keep_alive"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestReaderTellsACutLineFromABadOne(t *testing.T) {
	r := wire.NewReader(strings.NewReader(`{"type":"keep_al`))
	_, err := r.Read()
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut line: %v", err)
	}
	if _, err := r.Read(); err != io.EOF {
		t.Errorf("after it: %v, want EOF", err)
	}
}

func TestReaderReportsAStreamThatBreaks(t *testing.T) {
	broken := errors.New("wire cut")
	r := wire.NewReader(io.MultiReader(strings.NewReader("{\"type\":\"keep_alive\"}\n{\"ty"), iotest.ErrReader(broken)))
	var got []error
	for _, err := range r.All() {
		got = append(got, err)
	}
	if len(got) != 2 || got[0] != nil || !errors.Is(got[1], broken) {
		t.Errorf("errors: %v, want nil and the break", got)
	}
}

func TestReaderTakesHugeLinesAndLetsThemGo(t *testing.T) {
	big := strings.Repeat("x", bigLine)
	in := io.MultiReader(
		strings.NewReader(`{"type":"user","message":{"role":"user","content":"`), strings.NewReader(big), strings.NewReader("\"}}\n"),
		strings.NewReader("{\"type\":\"keep_alive\"}\n"))
	r := wire.NewReader(in)
	m, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	if got := m.(*wire.User).Message.Content.Text; got != big {
		t.Fatalf("%d bytes came, want %d", len(got), len(big))
	}
	if _, err := r.Read(); err != nil {
		t.Fatal(err)
	}
	m, big = nil, ""
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	if mem.HeapAlloc > bigLine/2 {
		t.Errorf("%d MB are held after the line was read", mem.HeapAlloc>>20)
	}
	runtime.KeepAlive(r)
}

func TestWriterWritesWholeLinesFromManyGoroutines(t *testing.T) {
	var out bytes.Buffer
	w := wire.NewWriter(&out)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := range 20 {
				if err := w.Write(wire.Prompt(fmt.Sprintf("%d.%d %s", i, j, strings.Repeat("y", i*50)))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	n := 0
	for _, err := range wire.NewReader(&out).All() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1000 {
		t.Errorf("%d messages, want 1000", n)
	}
}

// failing takes one write and half of the next.
type failing struct {
	bytes.Buffer
	calls int
}

func (f *failing) Write(p []byte) (int, error) {
	if f.calls++; f.calls > 1 {
		n, _ := f.Buffer.Write(p[:len(p)/2])
		return n, io.ErrClosedPipe
	}
	return f.Buffer.Write(p)
}

func TestWriterStopsAfterTheFirstError(t *testing.T) {
	out := &failing{}
	w := wire.NewWriter(out)
	if err := w.Write(&wire.StreamEvent{Event: []byte("{")}); err == nil || w.Err() != nil {
		t.Errorf("a message that cannot be encoded: %v, then %v; want an error that does not stay", err, w.Err())
	}
	if err := w.Write(&wire.KeepAlive{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.Write(&wire.KeepAlive{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("after the stream broke: %v", err)
		}
	}
	if out.calls != 2 {
		t.Errorf("%d writes reached the stream, want 2", out.calls)
	}
}

func TestTextDelta(t *testing.T) {
	for event, want := range map[string]string{
		`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`:     "a true",
		`{"type":"content_block_delta","delta":{"type":"thinking_delta","text":"a"}}`: " false",
		`{"type":"message_delta","delta":{"type":"text_delta","text":"a"}}`:           " false",
		`{"type":"content_block_delta","delta":{"type":"text_delta","text":1}}`:       " false",
	} {
		text, ok := (&wire.StreamEvent{Event: []byte(event)}).TextDelta()
		if got := fmt.Sprint(text, " ", ok); got != want {
			t.Errorf("%s: %s, want %s", event, got, want)
		}
	}
}
