package cli_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/haftdev/haft/internal/test/tracetest"
)

// collectTraces is the script command
//
//	collector
//
// which starts a collector that haft sends traces to from then on. The script fails if haft
// sends what the protocol does not allow.
func collectTraces(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 0 {
			ts.Fatalf("usage: collector")
		}
		collector := tracetest.Serve(t)
		*ts.Value(collectorKey{}).(**tracetest.Collector) = collector
		ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	}
}

type collectorKey struct{}

// traced is the script command
//
//	traced COUNT
//	traced NUMBER PATTERN
//
// which checks how many spans came, or what span NUMBER, from 1, says.
func traced(ts *testscript.TestScript, neg bool, args []string) {
	collector := *ts.Value(collectorKey{}).(**tracetest.Collector)
	n := 0
	if neg || collector == nil || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: traced COUNT, or traced NUMBER PATTERN, after collector")
	}
	_, err := fmt.Sscan(args[0], &n)
	ts.Check(err)
	spans := collector.Spans()
	if len(args) == 1 {
		if len(spans) != n {
			ts.Fatalf("%d spans came, want %d", len(spans), n)
		}
		return
	}
	if n < 1 || n > len(spans) {
		ts.Fatalf("%d spans came", len(spans))
	}
	facts := spans[n-1].Facts()
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(facts)) {
		fmt.Fprintf(&text, "%s=%s\n", key, facts[key])
	}
	if !regexp.MustCompile(args[1]).MatchString(text.String()) {
		ts.Fatalf("span %d does not match %q:\n%s", n, args[1], text.String())
	}
}
