package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/models/provider/retry"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

// outcome is what is left of an answer when its last beginning is what counts.
type outcome struct {
	text    string
	blocks  int
	retries int
	stop    model.StopReason
	err     *model.Error
}

func ask(t *testing.T, m model.Model) outcome {
	t.Helper()
	h := &model.History{}
	if err := h.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("hi")}}); err != nil {
		t.Fatal(err)
	}
	var o outcome
	for ev, err := range m.Stream(context.Background(), &model.Request{Model: "claude-opus-5-5", Messages: h, Session: t.Name()}) {
		if err != nil {
			o.err, _ = errors.AsType[*model.Error](err)
			if o.err == nil {
				t.Fatal(err)
			}
			return o
		}
		switch ev := ev.(type) {
		case model.Start:
			o.text, o.blocks = "", 0
		case model.Delta:
			o.text += ev.Text
		case model.BlockStop:
			o.blocks++
		case model.Retry:
			o.retries++
		case model.Stop:
			o.stop = ev.Reason
		}
	}
	return o
}

// The scripted server fails in every way it can, the real client asks it, and
// what comes out is one whole answer or one honest error.
func TestFaultsOfTheServer(t *testing.T) {
	const text = "A text of several pieces, so that there is something to cut."
	overloads := script.Fault{Status: 529, Times: 2}
	for _, c := range []struct {
		name    string
		fault   script.Fault
		retries int
		err     model.ErrorKind // "" is a whole answer
	}{
		{"429 with retry-after", script.Fault{Status: 429, RetryAfter: "0.05"}, 1, ""},
		{"a burst of 529", overloads, 2, ""},
		{"500 that stays", script.Fault{Status: 500, Times: -1}, 3, model.ServerFailure},
		{"a hang before the answer", script.Fault{Break: script.Hang}, 1, ""},
		{"a hang within a block", script.Fault{Break: script.Hang, After: 3}, 1, ""},
		{"a hang after a block", script.Fault{Break: script.Hang, After: 5}, 0, model.Stalled},
		{"garbage within a block", script.Fault{Break: script.Garbage, After: 3}, 1, ""},
		{"garbage after a block", script.Fault{Break: script.Garbage, After: 5}, 0, model.Garbled},
		{"an error in the stream", script.Fault{Break: script.Failure, After: 2, Type: "overloaded_error"}, 1, ""},
		{"an end too early", script.Fault{Break: script.End, After: 3}, 1, ""},
		{"a slow drip", script.Fault{Drip: 1}, 0, ""},
		{"400 on a bad block", script.Fault{Status: 400, Message: "messages.0.content.0: bad", Times: -1}, 0, model.InvalidRequest},
		{"the wrong content type", script.Fault{ContentType: "text/plain"}, 0, ""},
		{"a web page", script.Fault{Body: "<html>hello</html>", ContentType: "text/html"}, 0, model.Garbled},
		{"no key", script.Fault{Status: 401, Times: -1}, 0, model.Unauthorized},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := askThrough(t, &script.Scenario{Turns: []script.Turn{{Blocks: []script.Block{{Text: text}}, Fault: c.fault}}})
			if o.retries != c.retries {
				t.Errorf("%d retries, want %d", o.retries, c.retries)
			}
			if c.err == "" && (o.err != nil || o.text != text || o.blocks != 1 || o.stop != model.EndTurn) {
				t.Errorf("got %+v", o)
			}
			if c.err != "" && (o.err == nil || o.err.Kind != c.err || o.err.Message == "") {
				t.Errorf("got %+v, want %s", o, c.err)
			}
		})
	}
}

func TestCutAtEachEvent(t *testing.T) {
	turn := script.Turn{Blocks: []script.Block{{Text: "one"}, {Tool: "Read", Input: []byte(`{"a":1}`)}}}
	for after := range 10 { // start, 3 of text, 3 of the call, delta, stop
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			cut := turn
			cut.Fault = script.Fault{Break: script.Cut, After: after}
			o := askThrough(t, &script.Scenario{Turns: []script.Turn{cut}})
			want := outcome{text: `one{"a":1}`, blocks: 2, stop: model.StopToolUse}
			switch {
			case after <= 3: // no block was whole
				want.retries = 1
			case after <= 7: // what was whole stays
				want.stop = ""
				if after < 7 {
					want.blocks = 1
				}
			} // and after that all was said
			lost := o.err != nil && o.err.Kind == model.ConnectionLost
			o.err = nil
			if after < 6 && want.blocks == 1 {
				want.text = o.text
			}
			if o != want || lost != (want.stop == "") {
				t.Errorf("got %+v, lost %v, want %+v", o, lost, want)
			}
		})
	}
}

func askThrough(t *testing.T, s *script.Scenario) outcome {
	t.Helper()
	srv, err := scripttest.Serve(t, &script.Options{Scenario: s})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	opts := &anthropic.Options{BaseURL: srv.URL(), Key: "k"}
	if fault := s.Turns[0].Fault; fault.Break == script.Hang { // only then: machines are busy
		opts.Idle, opts.FirstByte = time.Second, time.Second
	}
	client := anthropic.New(opts)
	return ask(t, retry.New(client, &retry.Options{Max: 3, Delay: time.Millisecond}))
}

func TestFallbackThroughTheClient(t *testing.T) {
	srv, err := scripttest.Serve(t, &script.Options{Answer: func(r *script.Request) script.Turn {
		if strings.Contains(r.Model, "opus") {
			return script.Turn{Fault: script.Fault{Status: 529}}
		}
		return script.Turn{Blocks: []script.Block{{Text: r.Model}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	m := retry.New(anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "k"}), &retry.Options{Delay: time.Millisecond, Fallbacks: []string{"claude-haiku-5-5"}})
	if o := ask(t, m); o.err != nil || o.text != "claude-haiku-5-5" || o.retries != 2 {
		t.Errorf("got %+v", o)
	}
}
