package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/models/streamtest"
	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/model"
)

// playing is a client whose server sends what body returns.
func playing(body func() io.Reader) *Client {
	return New(&Options{HTTP: streamtest.Playing("text/event-stream; charset=utf-8", body)})
}

func question(t testing.TB, texts ...string) *model.Request {
	t.Helper()
	h := &model.History{}
	for _, text := range texts {
		if err := h.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}); err != nil {
			t.Fatal(err)
		}
	}
	return &model.Request{Model: "claude-opus-5-5", Messages: h}
}

func TestRecordedStreams(t *testing.T) {
	for name, raw := range streamtest.Recorded(t) {
		t.Run(name, func(t *testing.T) {
			events, err := streamtest.Collect(playing(func() io.Reader { return bytes.NewReader(raw) }), question(t, "hi"))
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, filepath.Join("testdata/streams", name+".golden"), streamtest.Show(events))
		})
	}
}

func TestHowBytesArriveDoesNotMatter(t *testing.T) {
	for name, raw := range streamtest.Recorded(t) {
		want, err := streamtest.Collect(playing(func() io.Reader { return bytes.NewReader(raw) }), question(t, "hi"))
		if err != nil {
			t.Fatal(err)
		}
		for way, reader := range map[string]func() io.Reader{
			"byte by byte":            func() io.Reader { return iotest.OneByteReader(bytes.NewReader(raw)) },
			"in halves":               func() io.Reader { return iotest.HalfReader(bytes.NewReader(raw)) },
			"with the end":            func() io.Reader { return iotest.DataErrReader(bytes.NewReader(raw)) },
			"after a byte order mark": func() io.Reader { return io.MultiReader(strings.NewReader("\ufeff"), bytes.NewReader(raw)) },
		} {
			got, err := streamtest.Collect(playing(reader), question(t, "hi"))
			if err != nil {
				t.Fatalf("%s, %s: %v", name, way, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, way, diff)
			}
		}
	}
}

// HAFT_TORTURE=1 cuts at every byte.
func TestCutAnywhereGivesAnHonestPrefix(t *testing.T) {
	for name, raw := range streamtest.Recorded(t) {
		want, err := streamtest.Collect(playing(func() io.Reader { return bytes.NewReader(raw) }), question(t, "hi"))
		if err != nil {
			t.Fatal(err)
		}
		step := 3
		if os.Getenv("HAFT_TORTURE") != "" {
			step = 1
		}
		for cut := 0; cut < len(raw); cut += step {
			broken := []error{io.EOF, io.ErrUnexpectedEOF}[cut%2]
			got, err := streamtest.Collect(playing(func() io.Reader {
				return io.MultiReader(bytes.NewReader(raw[:cut]), iotest.ErrReader(broken))
			}), question(t, "hi"))
			if len(got) > len(want) || len(got) > 0 && !reflect.DeepEqual(want[:len(got)], got) {
				t.Fatalf("%s cut at %d: got other events\n%s", name, cut, streamtest.Show(got))
			}
			e, ok := errors.AsType[*model.Error](err)
			if len(got) < len(want) && (!ok || e.Kind != model.ConnectionLost || !e.Temporary()) {
				t.Fatalf("%s cut at %d: %v after\n%s", name, cut, err, streamtest.Show(got))
			}
		}
	}
}

func TestGarbageIsNotAnAnswer(t *testing.T) {
	begin := "data: {\"type\":\"message_start\",\"message\":{}}\n\n"
	for name, raw := range map[string]string{
		"broken JSON":               begin + "data: {\"type\":\"content_bl\xff\n\n",
		"a piece of no block":       begin + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}` + "\n\n",
		"an end of no block":        begin + `data: {"type":"content_block_stop","index":3}` + "\n\n",
		"a block twice":             begin + strings.Repeat(`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`+"\n\n", 2),
		"a block that is none":      begin + `data: {"type":"content_block_start","index":0,"content_block":[]}` + "\n\n",
		"two beginnings":            begin + begin,
		"a block before the answer": `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n",
		"an end before the answer":  `data: {"type":"message_stop"}` + "\n\n",
		"another kind of JSON":      "data: [1]\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := streamtest.Collect(playing(func() io.Reader { return strings.NewReader(raw) }), question(t, "hi"))
			if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.Garbled || !e.Temporary() {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestErrorsWithinTheStream(t *testing.T) {
	for _, c := range []struct {
		event string
		kind  model.ErrorKind
	}{
		{"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", model.Overloaded},
		{"event: error\ndata: {\"error\":{\"type\":\"api_error\",\"message\":\"x\"}}\n\n", model.ServerFailure},
		{"data: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 1 > 0\"}}\n\n", model.PromptTooLong},
		{"data: {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"x\"}}\n\n", model.Unauthorized},
	} {
		_, err := streamtest.Collect(playing(func() io.Reader { return strings.NewReader(c.event) }), question(t, "hi"))
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != c.kind {
			t.Errorf("%s: %v", c.event, err)
		}
	}
}

func FuzzStream(f *testing.F) {
	files, err := filepath.Glob("testdata/streams/*.sse")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		stopped, events := false, 0
		var err error
		for ev, e := range playing(func() io.Reader { return bytes.NewReader(raw) }).Stream(t.Context(), question(t, "hi")) {
			if stopped || err != nil {
				t.Fatal("something came after the end")
			}
			if events++; e == nil {
				_, stopped = ev.(model.Stop)
			}
			if stop, ok := ev.(model.BlockStop); ok {
				if _, err := json.Marshal(stop.Block); err != nil && stop.Block.Type != "" && stop.Block.Type != model.ToolResult {
					t.Fatalf("a block that cannot be sent back: %v", err)
				}
			}
			err = e
		}
		if !stopped && err == nil {
			t.Fatal("it ended without an end")
		}
	})
}

func FuzzQuickDelta(f *testing.F) {
	for _, seed := range []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\n\"\/é"} }`,
		`{"type":"content_block_delta","index":12,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}`,
		`{"type":"content_block_delta","index":-0,"delta":{"type":"thinking_delta","thinking":"\u00e9"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"},"delta":{"text":"b"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var quick, slow wireEvent
		if !quickDelta(data, &quick) {
			return
		}
		if err := json.Unmarshal(data, &slow); err != nil {
			t.Fatalf("took what is not JSON: %v", err)
		}
		if !reflect.DeepEqual(quick, slow) {
			t.Errorf("got %+v, want %+v", quick, slow)
		}
	})
}

// long is a stream with one text of n deltas.
func long(n int) []byte {
	var b bytes.Buffer
	b.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{}}}\n\n")
	b.WriteString("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
	for i := range n {
		fmt.Fprintf(&b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" word %d of it\"}}\n\n", i)
	}
	b.WriteString("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n")
	b.WriteString("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n")
	b.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	return b.Bytes()
}

func TestMemoryGrowsWithTheAnswerOnly(t *testing.T) {
	allocated := func(n int) float64 {
		raw := long(n)
		m, req := playing(func() io.Reader { return bytes.NewReader(raw) }), question(t, "hi")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			for _, err := range m.Stream(context.Background(), req) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	few, many := allocated(400), allocated(4000)
	if many > 12*few {
		t.Errorf("ten times the events cost %.1f times the memory", many/few)
	}
}

func BenchmarkStream(b *testing.B) {
	for _, n := range []int{4_000, 40_000} {
		b.Run(fmt.Sprintf("%d events", n), func(b *testing.B) {
			raw := long(n)
			m, req := playing(func() io.Reader { return bytes.NewReader(raw) }), question(b, "hi")
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(context.Background(), req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
