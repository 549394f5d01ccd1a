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
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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

// An exporter sends spans to a collector, by OTLP over HTTP in JSON, one turn after the other.
type exporter struct {
	url      string
	shown    string // without a password or a query
	headers  http.Header
	resource []attribute
	version  string
	client   *http.Client
	failed   func(string)
	told     sync.Once

	mu     sync.Mutex
	queue  chan []*span       // nil until there is something to send
	stop   context.CancelFunc // of the sender
	ended  chan struct{}      // closed when it has
	closed bool
}

const (
	waiting   = 64              // turns that may wait for the collector; others are dropped
	closeTime = 2 * time.Second // for how long the end of a session waits for the collector
	tries     = 3

	defaultTimeout = 10 * time.Second // as OpenTelemetry has it
)

// openExporter reads the environment. It returns nil if that asks for no traces, or for what
// cannot be, and then says why.
func openExporter(o *Options) (e *exporter, wrong string) {
	const prefix = "OTEL_EXPORTER_OTLP_"
	get := func(name string) string { return cmp.Or(o.Getenv(prefix+"TRACES_"+name), o.Getenv(prefix+name)) }
	address := o.Getenv(prefix + "TRACES_ENDPOINT")
	if base := o.Getenv(prefix + "ENDPOINT"); address == "" && base != "" {
		address = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if address == "" || o.Getenv("OTEL_SDK_DISABLED") == "true" || cmp.Or(o.Getenv("OTEL_TRACES_EXPORTER"), "otlp") != "otlp" {
		return nil, ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, "Could not send traces: set OTEL_EXPORTER_OTLP_ENDPOINT to an address such as http://localhost:4318"
	}
	if get("PROTOCOL") == "grpc" {
		return nil, "Could not send traces by gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL to http/json, and OTEL_EXPORTER_OTLP_ENDPOINT to the address for HTTP, such as http://localhost:4318"
	}
	timeout := defaultTimeout
	if ms, err := strconv.Atoi(get("TIMEOUT")); err == nil && ms > 0 {
		timeout = time.Duration(ms) * time.Millisecond
	}
	headers := http.Header{"Content-Type": {"application/json"}}
	for name, text := range pairs(get("HEADERS")) {
		headers.Set(name, text)
	}
	about := &span{}
	about.text("service.name", cmp.Or(o.Getenv("OTEL_SERVICE_NAME"), pairs(o.Getenv("OTEL_RESOURCE_ATTRIBUTES"))["service.name"], "haft"))
	for name, text := range pairs(o.Getenv("OTEL_RESOURCE_ATTRIBUTES")) {
		if name != "service.name" {
			about.text(name, text)
		}
	}
	about.text("service.version", o.Version)
	return &exporter{
		url: address, shown: u.Scheme + "://" + u.Host + u.Path, headers: headers, resource: about.Attributes, version: o.Version, failed: o.Failed,
		// What the headers say is for this collector and no other.
		client: &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, ""
}

// pairs reads a list such as a=1,b=2, whose values may be escaped as in a URL.
func pairs(text string) map[string]string {
	found := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		value = strings.TrimSpace(value)
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		found[name] = value
	}
	return found
}

// send passes the spans of a turn on. The first one starts the sender.
func (e *exporter) send(spans []*span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if e.queue == nil {
		var ctx context.Context
		ctx, e.stop = context.WithCancel(context.Background())
		e.queue, e.ended = make(chan []*span, waiting), make(chan struct{})
		go e.run(ctx)
	}
	select {
	case e.queue <- spans:
	default:
		e.fail(errors.New("the collector is too slow, so some were dropped"))
	}
}

func (e *exporter) run(ctx context.Context) {
	defer close(e.ended)
	for spans := range e.queue {
		if err := e.export(ctx, spans); err != nil {
			e.fail(err)
		}
	}
}

// fail reports what is wrong, once: the next turn would only say the same.
func (e *exporter) fail(err error) {
	e.told.Do(func() { e.failed(fmt.Sprintf("Could not send traces to %s: %v", e.shown, err)) })
}

// export sends spans, again if the collector is busy.
func (e *exporter) export(ctx context.Context, spans []*span) error {
	raw, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": e.resource},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "haft", "version": e.version}, "spans": spans}},
	}}})
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		again, err := e.post(ctx, raw)
		if err == nil || !again || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(try) * 200 * time.Millisecond):
		}
	}
}

func (e *exporter) post(ctx context.Context, raw []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(raw))
	if err != nil {
		return false, err
	}
	req.Header = e.headers.Clone()
	res, err := e.client.Do(req)
	if err != nil {
		return true, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // so that the connection can be used again
	switch res.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("it answered %s", res.Status)
}

// close sends what waits, but does not hold the end of a session for long.
func (e *exporter) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.closed
	if e.closed = true; was || e.queue == nil {
		return
	}
	close(e.queue)
	defer e.stop()
	select {
	case <-e.ended:
	case <-time.After(closeTime):
		e.fail(errors.New("it did not answer before the session ended"))
	}
}
