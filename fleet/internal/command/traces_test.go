//go:build linux

package command_test

import (
	"testing"

	"github.com/haftdev/haft/internal/test/tracetest"
)

// The turns of a worker are traces, with a span for each call, as those of haft itself.
func TestTurnsOfAWorkerAreTraced(t *testing.T) {
	t.Parallel()
	collector := tracetest.Serve(t)
	f := newFleet(t)
	f.environ = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_SERVICE_NAME=haft-worker"}
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	id, prompts := f.submit(2)
	f.mustEnd(t, id, prompts)
	waitFor(t, "the traces", func() bool { return len(collector.Spans()) == 4 })
	for i, s := range collector.Spans() {
		facts, want := s.Facts(), "invoke_agent haft"
		if i%2 == 1 {
			want = "execute_tool Bash"
		} else if facts["gen_ai.conversation.id"] != id {
			t.Errorf("the trace is of %q", facts["gen_ai.conversation.id"])
		}
		if facts["name"] != want || facts["error"] != "" {
			t.Errorf("span %d: %v", i, facts)
		}
	}
	if name := collector.Resource()["service.name"]; name != "haft-worker" {
		t.Errorf("the service is %q", name)
	}
}
