package trace

import (
	"bytes"
	"cmp"
	"context"
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
)

// An exporter sends spans to a collector, by OTLP over HTTP in JSON, one turn after the other.
type exporter struct {
	url      string
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
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Sprintf("Could not send traces to %q: set OTEL_EXPORTER_OTLP_ENDPOINT to an address such as http://localhost:4318", address)
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
		url: address, headers: headers, resource: about.Attributes, version: o.Version, failed: o.Failed,
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
		e.fail(errors.New("the collector is too slow, and some were dropped"))
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
	e.told.Do(func() { e.failed(fmt.Sprintf("Could not send traces to %s: %v", e.url, err)) })
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
