package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/haftdev/haft/internal/models/streamtest"
	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/model"
)

// playing is a client whose server sends what body returns.
func playing(kind string, body func() io.Reader) *Client {
	return New(&Options{HTTP: streamtest.Playing(kind, body)})
}

func question(t testing.TB) *model.Request {
	t.Helper()
	h := &model.History{}
	if err := h.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("hi")}}); err != nil {
		t.Fatal(err)
	}
	return &model.Request{Model: "m", Messages: h}
}

func TestRecordedStreams(t *testing.T) {
	for name, raw := range streamtest.Recorded(t) {
		t.Run(name, func(t *testing.T) {
			events, err := streamtest.Collect(playing("text/event-stream", func() io.Reader { return bytes.NewReader(raw) }), question(t))
			if err != nil {
				t.Fatalf("%v after\n%s", err, streamtest.Show(events))
			}
			golden.Check(t, filepath.Join("testdata/streams", name+".golden"), streamtest.Show(events))
		})
	}
}

// Blocks begin and end once each, in the order of their numbers, and what their
// deltas say is what they are.
func TestStreamsAreWellFormed(t *testing.T) {
	for name, raw := range streamtest.Recorded(t) {
		events, err := streamtest.Collect(playing("", func() io.Reader { return iotest.OneByteReader(bytes.NewReader(raw)) }), question(t))
		if err != nil {
			t.Fatal(name, err)
		}
		begun, ended, said := 0, map[int]bool{}, map[int]string{}
		for i, ev := range events {
			switch ev := ev.(type) {
			case model.BlockStart:
				if ev.Index != begun {
					t.Errorf("%s: block %d begins after %d", name, ev.Index, begun)
				}
				begun++
			case model.Delta:
				if ev.Index >= begun || ended[ev.Index] {
					t.Errorf("%s: a delta for block %d, which is not open", name, ev.Index)
				}
				said[ev.Index] += ev.Text
			case model.BlockStop:
				if ended[ev.Index] || ev.Index >= begun {
					t.Errorf("%s: block %d ends but is not open", name, ev.Index)
				}
				ended[ev.Index] = true
				if text := ev.Block.Text + string(ev.Block.Input); text != said[ev.Index] && !(text == "{}" && said[ev.Index] == "") {
					t.Errorf("%s: block %d is %q, and its pieces are %q", name, ev.Index, text, said[ev.Index])
				}
			case model.Stop:
				if i != len(events)-1 || len(ended) != begun {
					t.Errorf("%s: it stops at event %d of %d, with %d of %d blocks ended", name, i, len(events), len(ended), begun)
				}
			}
		}
	}
}

func TestCutAnywhereGivesAnHonestPrefix(t *testing.T) {
	for name, raw := range streamtest.Recorded(t) {
		want, err := streamtest.Collect(playing("text/event-stream", func() io.Reader { return bytes.NewReader(raw) }), question(t))
		if err != nil {
			t.Fatal(err)
		}
		finish := bytes.Index(raw, []byte(`"finish_reason":"`))
		for cut := 0; cut < len(raw); cut += 3 {
			got, err := streamtest.Collect(playing("text/event-stream", func() io.Reader { return bytes.NewReader(raw[:cut]) }), question(t))
			if finish >= 0 && cut < finish {
				e, ok := errors.AsType[*model.Error](err)
				if !ok || e.Kind != model.ConnectionLost {
					t.Fatalf("%s cut at %d: %v", name, cut, err)
				}
				if len(got) > 0 && !reflect.DeepEqual(want[:len(got)], got) {
					t.Fatalf("%s cut at %d: got other events\n%s", name, cut, streamtest.Show(got))
				}
			}
		}
	}
}

func TestDocumentsAndErrors(t *testing.T) {
	for _, c := range []struct {
		name, kind, body string
		err              model.ErrorKind
		want             string
	}{
		{"a server that does not stream", "application/json",
			`{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"c","type":"function","function":{"name":"A","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			"", `Stop {"Reason":"tool_use","Sequence":"","Usage":{"input_tokens":1,"output_tokens":2,`},
		{"an error in the stream", "text/event-stream", "data: {\"error\":{\"message\":\"The server had an error\",\"type\":\"server_error\"}}\n\n", model.ServerFailure, ""},
		{"an error that is a string", "text/event-stream", "data: {\"error\":\"model runner has crashed\"}\n\n", model.ServerFailure, ""},
		{"too long", "text/event-stream", "data: {\"error\":{\"message\":\"This model's maximum context length is 8192 tokens\",\"code\":\"context_length_exceeded\"}}\n\n", model.PromptTooLong, ""},
		{"garbage", "text/event-stream", "data: {\"id\":\n\n", model.Garbled, ""},
		{"another document", "application/json", `{"models":[]}`, model.Garbled, ""},
		{"nothing at all", "text/event-stream", "", model.ConnectionLost, ""},
		{"only an end", "text/event-stream", "data: [DONE]\n\n", model.ConnectionLost, ""},
		{"arguments after their end", "text/event-stream", "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"A\",\"arguments\":\"{}\"}},{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"B\"}},{\"index\":0,\"function\":{\"arguments\":\"x\"}}]}}]}\n\n", model.Garbled, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := streamtest.Collect(playing(c.kind, func() io.Reader { return strings.NewReader(c.body) }), question(t))
			if c.err == "" {
				if err != nil || !strings.Contains(streamtest.Show(events), c.want) {
					t.Errorf("%v after\n%s", err, streamtest.Show(events))
				}
				return
			}
			if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != c.err || e.Message == "" {
				t.Errorf("got %v", err)
			}
		})
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
		ended := false
		for ev, err := range playing("text/event-stream", func() io.Reader { return bytes.NewReader(raw) }).Stream(t.Context(), question(t)) {
			if ended {
				t.Fatal("something came after the end")
			}
			_, stop := ev.(model.Stop)
			ended = stop || err != nil
			if stop, ok := ev.(model.BlockStop); ok {
				if _, err := json.Marshal(stop.Block); err != nil {
					t.Fatalf("a block that cannot be sent back: %v", err)
				}
			}
		}
		if !ended {
			t.Fatal("it ended without an end")
		}
	})
}
