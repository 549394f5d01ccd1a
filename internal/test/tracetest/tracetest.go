// Package tracetest is a collector of OpenTelemetry traces for tests, which takes only what the
// protocol (OTLP over HTTP, in JSON) allows.
package tracetest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// A Collector keeps what it was sent.
type Collector struct {
	URL string

	t        testing.TB
	mu       sync.Mutex
	busy     int
	header   http.Header
	resource map[string]string
	spans    []Span
}

// A Span as it was sent.
type Span struct {
	TraceID           string      `json:"traceId"`
	SpanID            string      `json:"spanId"`
	ParentSpanID      string      `json:"parentSpanId"`
	Name              string      `json:"name"`
	Kind              int         `json:"kind"`
	StartTimeUnixNano string      `json:"startTimeUnixNano"`
	EndTimeUnixNano   string      `json:"endTimeUnixNano"`
	Attributes        []attribute `json:"attributes"`
	Status            struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"status"`
}

type attribute struct {
	Key   string `json:"key"`
	Value struct {
		StringValue *string `json:"stringValue"`
		IntValue    *string `json:"intValue"`
	} `json:"value"`
}

// request is the part of an ExportTraceServiceRequest that programs send.
type request struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes []attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []struct {
			Scope struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"scope"`
			Spans []Span `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

// Serve starts a collector, which ends with the test.
func Serve(t testing.TB) *Collector {
	c := &Collector{t: t}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	c.URL = srv.URL
	return c
}

// Busy refuses the next requests for now.
func (c *Collector) Busy(requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = requests
}

// ServeHTTP implements [http.Handler].
func (c *Collector) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy > 0 {
		c.busy--
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	if q.Method != http.MethodPost || q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/json" {
		c.refuse(w, q.Method+" "+q.URL.Path+" "+q.Header.Get("Content-Type"))
		return
	}
	var r request
	dec := json.NewDecoder(q.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		c.refuse(w, err.Error())
		return
	}
	c.header = q.Header
	for _, rs := range r.ResourceSpans {
		c.resource = facts(rs.Resource.Attributes)
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				if why := s.wrong(); why != "" {
					c.refuse(w, why)
					return
				}
				c.spans = append(c.spans, s)
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}") // who has gone reads nothing
}

func (c *Collector) refuse(w http.ResponseWriter, why string) {
	c.t.Errorf("the collector refuses: %s", why)
	http.Error(w, why, http.StatusBadRequest)
}

var (
	traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)
	spanID  = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// wrong says what the protocol does not allow about a span.
func (s *Span) wrong() string {
	start, startErr := strconv.ParseUint(s.StartTimeUnixNano, 10, 64)
	end, endErr := strconv.ParseUint(s.EndTimeUnixNano, 10, 64)
	switch {
	case !traceID.MatchString(s.TraceID), !spanID.MatchString(s.SpanID), s.ParentSpanID != "" && !spanID.MatchString(s.ParentSpanID):
		return "an id is wrong: " + s.TraceID + " " + s.SpanID + " " + s.ParentSpanID
	case s.Name == "" || s.Kind < 1 || s.Kind > 5 || s.Status.Code < 0 || s.Status.Code > 2:
		return "a span has no name, kind or status"
	case startErr != nil || endErr != nil || start == 0 || end < start:
		return "a span ends before it starts"
	}
	for _, a := range s.Attributes {
		if a.Key == "" || (a.Value.StringValue == nil) == (a.Value.IntValue == nil) {
			return "the attribute " + a.Key + " has not one value"
		}
	}
	return ""
}

// Facts are the attributes of a span, its name as "name" and what went wrong as "error".
func (s *Span) Facts() map[string]string {
	all := facts(s.Attributes)
	all["name"] = s.Name
	if s.Status.Code == 2 {
		all["error"] = s.Status.Message
	}
	return all
}

func facts(list []attribute) map[string]string {
	found := map[string]string{}
	for _, a := range list {
		if a.Value.StringValue != nil {
			found[a.Key] = *a.Value.StringValue
		} else if a.Value.IntValue != nil {
			found[a.Key] = *a.Value.IntValue
		}
	}
	return found
}

// Spans are those that came so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Header is that of the last request.
func (c *Collector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header.Clone()
}

// Resource is what the last request says about its program.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.resource)
}
