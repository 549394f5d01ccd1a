// Package trace reports turns as OpenTelemetry traces: a turn is a trace, and each call of a
// tool is a span in it.
//
//	t := trace.Open(&trace.Options{Getenv: os.Getenv, Failed: func(why string) { … }})
//	t.Event(ev) // each event of the conversation
//	t.Close()
//
// The environment says where they go (OTEL_EXPORTER_OTLP_ENDPOINT and so on); without it there
// is no tracer, and nothing costs anything. They hold names, times and numbers, and nothing of
// what was said, read or written.
//
// A [Tracer] is safe for concurrent use.
package trace

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/sched"
)

// Options say what is traced and where to.
type Options struct {
	// Getenv looks up a variable of the environment.
	Getenv func(string) string
	// Version is that of the program.
	Version string
	// Session is the id of the session.
	Session func() string
	// Failed is called once with why traces are not sent, for the user.
	Failed func(string)
}

// A Tracer makes spans of events. A nil one does nothing.
type Tracer struct {
	options Options
	out     *exporter

	mu    sync.Mutex
	turn  *span // that runs; nil between turns
	calls map[string]*span
	done  []*span // of the turn
}

// mostSpans bounds what a turn keeps until it ends.
const mostSpans = 10_000

// Open returns a tracer if the environment names a collector, and else nil.
func Open(o *Options) *Tracer {
	out, wrong := openExporter(o)
	if wrong != "" {
		o.Failed(wrong)
	}
	if out == nil {
		return nil
	}
	return &Tracer{options: *o, out: out, calls: map[string]*span{}}
}

// A span is something that took time, in the terms of OTLP.
type span struct {
	TraceID    string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Status     status      `json:"status"`
}

// A status says whether it went wrong.
type status struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

const (
	internalKind = 1
	errorCode    = 2
)

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// A value is a text or a number, which JSON has as a text, too.
type value struct {
	Text *string `json:"stringValue,omitempty"`
	Int  *string `json:"intValue,omitempty"`
}

func (s *span) text(key, v string) {
	if v != "" {
		s.Attributes = append(s.Attributes, attribute{key, value{Text: &v}})
	}
}

func (s *span) number(key string, n int64) {
	v := strconv.FormatInt(n, 10)
	s.Attributes = append(s.Attributes, attribute{key, value{Int: &v}})
}

func (s *span) fail(why string) { s.Status = status{errorCode, why} }

func stamp(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

func newID(bytes int) string {
	id := make([]byte, bytes)
	rand.Read(id)
	return hex.EncodeToString(id)
}

// Event takes in what happened.
func (t *Tracer) Event(ev agent.Event) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch ev := ev.(type) {
	case agent.TurnStarted:
		t.begin(ev)
	case agent.Called:
		if ev.State == sched.Queued || ev.State == sched.Executing {
			t.call(ev.CallID, ev.State == sched.Executing)
		}
	case agent.Returned:
		t.returned(ev.Outcome)
	case agent.Result:
		t.end(ev)
	}
}

func (t *Tracer) begin(ev agent.TurnStarted) {
	t.turn = &span{TraceID: newID(16), ID: newID(8), Name: "invoke_agent haft", Kind: internalKind, Start: stamp(time.Now())}
	t.turn.text("gen_ai.operation.name", "invoke_agent")
	t.turn.text("gen_ai.conversation.id", t.options.Session())
	t.turn.text("gen_ai.request.model", ev.Model)
	t.turn.text("haft.mode", ev.Mode)
	clear(t.calls)
	t.done = nil
}

// call begins the span of a call. The time begins when it is its turn.
func (t *Tracer) call(id string, runs bool) {
	if t.turn == nil || len(t.calls)+len(t.done) >= mostSpans {
		return
	}
	s := t.calls[id]
	if s == nil {
		s = &span{TraceID: t.turn.TraceID, ID: newID(8), Parent: t.turn.ID, Kind: internalKind, Start: stamp(time.Now())}
		t.calls[id] = s
	}
	if runs {
		s.Start = stamp(time.Now())
	}
}

func (t *Tracer) returned(o *sched.Outcome) {
	t.call(o.CallID, false) // one that never began to run
	s := t.calls[o.CallID]
	if s == nil {
		return
	}
	delete(t.calls, o.CallID)
	s.Name, s.End = "execute_tool "+o.Tool, stamp(time.Now())
	s.text("gen_ai.operation.name", "execute_tool")
	s.text("gen_ai.tool.name", o.Tool)
	s.text("gen_ai.tool.call.id", o.UseID)
	s.text("gen_ai.agent.id", o.Agent)
	s.text("haft.call.status", o.Status.String())
	if o.Ran() {
		s.number("haft.call.run_ms", o.Ended.Sub(o.Started).Milliseconds())
	}
	if o.IsError() {
		s.fail(o.Status.String())
	}
	t.done = append(t.done, s)
}

func (t *Tracer) end(r agent.Result) {
	if t.turn == nil {
		return
	}
	s := t.turn
	s.End = stamp(time.Now())
	s.text("haft.reason", string(r.Reason))
	s.number("haft.requests", int64(r.Requests))
	s.number("haft.calls", int64(r.Calls))
	s.number("gen_ai.usage.input_tokens", r.Usage.Input)
	s.number("gen_ai.usage.output_tokens", r.Usage.Output)
	s.number("gen_ai.usage.cache_read.input_tokens", r.Usage.CacheRead)
	s.number("gen_ai.usage.cache_creation.input_tokens", r.Usage.CacheWrite)
	s.number("haft.model_ms", r.APITime.Milliseconds())
	if r.Reason.IsError() {
		s.fail(string(r.Reason))
	}
	t.out.send(append([]*span{s}, t.done...))
	t.turn, t.done = nil, nil
}

// Close sends what waits, unless that takes too long.
func (t *Tracer) Close() {
	if t != nil {
		t.out.close()
	}
}
