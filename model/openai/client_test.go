package openai

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/models/provider/retry"
	"github.com/haftdev/haft/internal/models/streamtest"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
)

// serve starts a scripted model, and a client of it.
func serve(t testing.TB, answer script.AnswerFunc, opts *Options) (*script.Server, *Client) {
	t.Helper()
	srv, err := scripttest.Serve(t, &script.Options{Answer: answer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	var o Options
	if opts != nil {
		o = *opts
	}
	o.BaseURL = srv.URL() + "/v1"
	return srv, New(&o)
}

func TestScriptedTurn(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "k"}
	srv, m := serve(t, func(*script.Request) script.Turn {
		return script.Turn{
			Blocks: []script.Block{{Thinking: "hm"}, {Text: "I read."}, {Tool: "Read", Input: []byte(`{"a":1}`)}, {Tool: "Grep", Input: []byte(`{"b":2}`)}},
			Usage:  &model.Usage{Input: 7, CacheRead: 3, Output: 5},
		}
	}, FromEnv(func(name string) string { return env[name] }))
	req := question(t)
	req.Session = "s1"
	events, err := streamtest.Collect(m, req)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`Start {"ID":"msg_scripted_0000","Model":"scripted:m","Usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}`,
		`BlockStart {"Index":0,"Block":{"type":"thinking","thinking":"","signature":""}}`,
		`Delta {"Index":0,"Type":"thinking_delta","Text":"hm"}`,
		`BlockStop {"Index":0,"Block":{"type":"thinking","thinking":"hm","signature":""}}`,
		`BlockStart {"Index":1,"Block":{"type":"text","text":""}}`,
		`Delta {"Index":1,"Type":"text_delta","Text":"I read."}`,
		`BlockStop {"Index":1,"Block":{"type":"text","text":"I read."}}`,
		`BlockStart {"Index":2,"Block":{"type":"tool_use","id":"toolu_00_02","name":"Read","input":{}}}`,
		`Delta {"Index":2,"Type":"input_json_delta","Text":"{\"a\":1}"}`,
		`BlockStop {"Index":2,"Block":{"type":"tool_use","id":"toolu_00_02","name":"Read","input":{"a":1}}}`,
		`BlockStart {"Index":3,"Block":{"type":"tool_use","id":"toolu_00_03","name":"Grep","input":{}}}`,
		`Delta {"Index":3,"Type":"input_json_delta","Text":"{\"b\":2}"}`,
		`BlockStop {"Index":3,"Block":{"type":"tool_use","id":"toolu_00_03","name":"Grep","input":{"b":2}}}`,
		`Stop {"Reason":"tool_use","Sequence":"","Usage":{"input_tokens":7,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":0}}`,
		``,
	}, "\n")
	if diff := cmp.Diff(want, streamtest.Show(events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	got := srv.Requests()[0]
	if got.Header.Get("Authorization") != "Bearer k" || got.Session != "s1" || got.Path != "/v1/chat/completions" {
		t.Errorf("header %v, path %s", got.Header, got.Path)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault script.Fault
		kind  model.ErrorKind
		says  string
	}{
		{"no key", script.Fault{Status: 401, Message: "Incorrect API key provided"}, model.Unauthorized, "provided. Set OPENAI_API_KEY"},
		{"no quota", script.Fault{Status: 429, Type: "insufficient_quota", Message: "You exceeded your current quota"}, model.Billing, "Add credit"},
		{"an unknown model", script.Fault{Status: 404, Body: `{"error":{"message":"model \"m\" not found, try pulling it first","type":"api_error"}}`, ContentType: "application/json"}, model.UnknownModel, "try pulling it first"},
		{"too long, of llama.cpp", script.Fault{Status: 400, Body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, ContentType: "application/json"}, model.PromptTooLong, "context size"},
		{"an error that is a string", script.Fault{Status: 500, Body: `{"error":"model runner has crashed"}`, ContentType: "application/json"}, model.ServerFailure, "model runner has crashed"},
		{"details of a framework", script.Fault{Status: 422, Body: `{"detail":[{"loc":["body"],"msg":"field required"}]}`, ContentType: "application/json"}, model.InvalidRequest, "field required"},
		{"a bad block", script.Fault{Status: 400, Message: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message"}, model.InvalidRequest, "role 'tool'"},
		{"a web page", script.Fault{Body: "<html><title>Sign in</title></html>", ContentType: "text/html"}, model.Garbled, "text/html instead of an event stream"},
		{"a wrong path", script.Fault{Status: 404, Body: "404 page not found", ContentType: "text/plain"}, model.UnknownModel, "check OPENAI_BASE_URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, m := serve(t, func(*script.Request) script.Turn { return script.Turn{Fault: c.fault} }, nil)
			_, err := streamtest.Collect(m, question(t))
			if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != c.kind || !strings.Contains(e.Message, c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestServersThatKnowLessAreAskedForLess(t *testing.T) {
	srv, m := serve(t, func(r *script.Request) script.Turn {
		if strings.Contains(string(r.Body), "stream_options") {
			return script.Turn{Fault: script.Fault{Status: 400, Message: "Unrecognized request argument supplied: stream_options"}}
		}
		return script.Turn{Blocks: []script.Block{{Text: "hi"}}}
	}, nil)
	for range 2 {
		if _, err := streamtest.Collect(m, question(t)); err != nil {
			t.Fatal(err)
		}
	}
	if srv.Total() != 3 {
		t.Errorf("%d requests, want 3: the client remembers", srv.Total())
	}
}

func TestFaultsThroughRetry(t *testing.T) {
	for name, fault := range map[string]script.Fault{
		"503":                {Status: 503},
		"429 and when":       {Status: 429, RetryAfter: "0.05"},
		"a burst of 529":     {Status: 529, Times: 2},
		"a hang at once":     {Break: script.Hang},
		"a cut":              {Break: script.Cut, After: 2},
		"an early end":       {Break: script.End, After: 2},
		"garbage":            {Break: script.Garbage, After: 2},
		"a hang":             {Break: script.Hang, After: 2},
		"an error":           {Break: script.Failure, After: 1},
		"a hang at the end":  {Break: script.Hang, After: 5},
		"the wrong type":     {ContentType: "text/plain"},
		"no last line":       {Break: script.End, After: 5},
		"a slow drip":        {Drip: 1},
		"a cut at the start": {Break: script.Cut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := (&script.Scenario{Turns: []script.Turn{{Blocks: []script.Block{{Text: "hello"}}, Fault: fault}}}).Answer()
			opts := &Options{}
			if fault.Break == script.Hang { // only then: machines are busy
				opts.Idle, opts.FirstByte = time.Second, time.Second
			}
			_, m := serve(t, answer, opts)
			text := ""
			events, err := streamtest.Collect(retry.New(m, &retry.Options{Delay: time.Millisecond}), question(t))
			for _, ev := range events {
				switch ev := ev.(type) {
				case model.Start:
					text = ""
				case model.Delta:
					text += ev.Text
				}
			}
			if err != nil || text != "hello" {
				t.Errorf("%v after\n%s", err, streamtest.Show(events))
			}
		})
	}
}

func TestManyAtOnce(t *testing.T) {
	_, m := serve(t, func(r *script.Request) script.Turn { return script.Turn{Blocks: []script.Block{{Text: r.FirstText()}}} }, nil)
	req := question(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := streamtest.Collect(m, req); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
