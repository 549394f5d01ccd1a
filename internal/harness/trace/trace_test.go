package trace_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/trace"
	"github.com/haftdev/haft/internal/test/tracetest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
)

// turn is what a conversation tells of a turn with a call that succeeds and one that does not.
func turn(t *trace.Tracer, reason agent.Reason) {
	t.Event(agent.TurnStarted{Model: "some-model", Mode: "plan"})
	for _, o := range []*sched.Outcome{{CallID: "c1", UseID: "u1", Tool: "Read", Started: time.Now(), Ended: time.Now()}, {CallID: "c2", UseID: "u2", Tool: "Bash", Agent: "helper", Status: sched.Denied}} {
		t.Event(agent.Called{Event: sched.Event{CallID: o.CallID, UseID: o.UseID, Tool: o.Tool, State: sched.Queued}})
		t.Event(agent.Called{Event: sched.Event{CallID: o.CallID, UseID: o.UseID, Tool: o.Tool, State: sched.Executing}})
		t.Event(agent.Returned{Outcome: o})
	}
	t.Event(agent.Result{Reason: reason, Requests: 2, Calls: 2, Usage: model.Usage{Input: 10, Output: 20}})
}

func open(t *testing.T, env map[string]string, failed func(string)) *trace.Tracer {
	t.Helper()
	return trace.Open(&trace.Options{Getenv: func(name string) string { return env[name] }, Version: "1.2", Session: func() string { return "the-session" }, Failed: failed})
}

func TestATurnIsATraceAndACallASpan(t *testing.T) {
	collector := tracetest.Serve(t)
	collector.Busy(1)
	tracer := open(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x, tenant=red",
		"OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "team=docs,service.name=other", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
	}, func(why string) { t.Error(why) })
	turn(tracer, agent.Completed)
	turn(tracer, agent.APIError)
	tracer.Close()
	tracer.Close()
	turn(tracer, agent.Completed) // too late, and harmless
	spans := collector.Spans()
	if len(spans) != 6 {
		t.Fatalf("%d spans", len(spans))
	}
	for i, s := range spans {
		first := spans[i/3*3]
		if s.TraceID != first.TraceID || (i%3 == 0) != (s.ParentSpanID == "") || i%3 > 0 && s.ParentSpanID != first.SpanID {
			t.Errorf("span %d of trace %s below %q", i, s.TraceID, s.ParentSpanID)
		}
	}
	if spans[0].TraceID == spans[3].TraceID {
		t.Error("two turns are one trace")
	}
	for i, want := range []map[string]string{
		{"name": "invoke_agent haft", "gen_ai.conversation.id": "the-session", "gen_ai.request.model": "some-model", "haft.reason": "completed", "haft.calls": "2", "gen_ai.usage.output_tokens": "20", "error": ""},
		{"name": "execute_tool Read", "gen_ai.tool.call.id": "u1", "haft.call.status": "succeeded", "error": ""},
		{"name": "execute_tool Bash", "gen_ai.agent.id": "helper", "haft.call.status": "denied", "error": "denied"},
		{"haft.reason": "api_error", "error": "api_error"},
	} {
		for key, text := range want {
			if got := spans[i].Facts()[key]; got != text {
				t.Errorf("span %d: %s is %q, want %q", i, key, got, text)
			}
		}
	}
	if h := collector.Header(); h.Get("Authorization") != "Bearer x" || h.Get("Tenant") != "red" {
		t.Errorf("headers %v", h)
	}
	if r := collector.Resource(); r["service.name"] != "mine" || r["team"] != "docs" || r["service.version"] != "1.2" {
		t.Errorf("resource %v", r)
	}
}

func TestTheEnvironmentDecides(t *testing.T) {
	for _, env := range []map[string]string{
		{},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		if tracer := open(t, env, func(why string) { t.Error(why) }); tracer != nil {
			t.Errorf("%v is traced", env)
		}
	}
	var none *trace.Tracer
	turn(none, agent.Completed)
	none.Close()
	for want, env := range map[string]map[string]string{
		"Could not send traces: ": {"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"},
		"by gRPC":                 {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
	} {
		said := ""
		if tracer := open(t, env, func(why string) { said += why }); tracer != nil || !strings.Contains(said, want) {
			t.Errorf("%v: %q", env, said)
		}
	}
}

// A collector that is away, refuses, or never answers is reported once and holds nothing.
func TestACollectorThatFailsIsReportedOnce(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, handler := range map[string]http.HandlerFunc{
		"refuses": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"hangs":   func(http.ResponseWriter, *http.Request) { <-hang },
		"away":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(handler)
			if handler == nil {
				srv.Close()
			} else {
				t.Cleanup(srv.CloseClientConnections)
			}
			var told atomic.Int32
			tracer := open(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": srv.URL}, func(why string) {
				if told.Add(1); !strings.HasPrefix(why, "Could not send traces to "+srv.URL) {
					t.Error(errors.New(why))
				}
			})
			for range 100 {
				turn(tracer, agent.Completed)
			}
			began := time.Now()
			tracer.Close()
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("the end took %s", took)
			}
			if told.Load() != 1 {
				t.Errorf("reported %d times", told.Load())
			}
		})
	}
}
