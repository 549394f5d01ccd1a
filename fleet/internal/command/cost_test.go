//go:build linux

package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
)

// keptRuns is how many runs are kept: HAFT_RUNS if it is set, or else a few.
func keptRuns(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("HAFT_RUNS")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("HAFT_RUNS: %v", err)
	}
	return n
}

// What the server costs while nothing happens does not grow with the runs that are kept (HAFT_RUNS=100000 for the figures
// of fleet/README.md).
func TestARestingServerCostsTheSame(t *testing.T) {
	many, rest := keptRuns(t, 2000), 4*time.Second
	if os.Getenv("HAFT_RUNS") != "" {
		rest = 60 * time.Second
	}
	t.Parallel()
	f := prepareFleet(t)
	status := f.freeAddress()
	f.serveFlags = []string{"--status", status}
	f.startServer()
	f.connect()
	measure := func(runs int) time.Duration {
		waitFor(t, "all runs to be known", func() bool {
			return strings.Contains(get(t, "http://"+status+"/metrics"), fmt.Sprintf(`haft_runs{state="idle",tenant="default"} %s`, promNumber(runs)))
		})
		used := f.serverTime(t)
		time.Sleep(rest) // what is measured is that nothing happens
		return f.serverTime(t) - used
	}
	f.fillWith(t, 0, 10, runs.Idle)
	few := measure(10)
	f.fillWith(t, 10, many, runs.Idle)
	lots := measure(many)
	began := time.Now()
	const submits = 50
	for range submits {
		f.submit(1)
	}
	submit := time.Since(began) / submits
	t.Logf("%s of processor time in %s with 10 runs, %s with %d; submitting a prompt then takes %s", few, rest, lots, many, submit)
	if slack := 60 * time.Millisecond; lots > 2*few+slack { // the kernel counts in steps of 10 ms
		t.Errorf("with %d runs, the server takes %s while nothing happens; with 10 it takes %s", many, lots, few)
	}
}

// promNumber is how a number is written among metrics.
func promNumber(n int) string { return strconv.FormatFloat(float64(n), 'g', -1, 64) }

// fillWith keeps runs from one number to another, as they are when they have ended.
func (f *fleet) fillWith(t *testing.T, from, to int, state runs.State) {
	t.Helper()
	if _, _, err := f.runs.Page(t.Context(), &runs.Query{Limit: 1}); err != nil { // it waits until the server has made its streams
		t.Fatal(err)
	}
	sent := make([]jetstream.PubAckFuture, 0, 1000)
	for n := from; n < to; n++ {
		id := fmt.Sprintf("kept-%08d", n)
		at := time.Now().UTC()
		raw, err := json.Marshal(&runs.Run{ID: id, State: state, Class: "any", Dir: "/srv/project", Args: []string{"--model=sonnet"}, First: "fix the failing test", Created: at, Updated: at,
			Archive: "s3://bucket/" + id + ".jsonl", Digest: strings.Repeat("0", 64)})
		if err == nil {
			var future jetstream.PubAckFuture
			future, err = f.conn.JS.PublishAsync("$KV."+engine.Runs(engine.ShardOf(id))+".default."+id, raw)
			sent = append(sent, future)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n%1000 == 999 || n == to-1 {
			select {
			case <-f.conn.JS.PublishAsyncComplete():
			case <-time.After(10 * time.Minute):
				t.Fatal("the server does not confirm what was sent")
			}
			for _, future := range sent {
				select {
				case <-future.Ok():
				case err := <-future.Err():
					t.Fatal(err)
				}
			}
			sent = sent[:0]
		}
	}
}

// Archived runs are listed page by page, however many there are (HAFT_RUNS=1000000 for the figures of fleet/README.md).
func TestManyRunsAreListedByPage(t *testing.T) {
	t.Parallel()
	many := keptRuns(t, 2500)
	f := newFleet(t)
	before := f.resident(t)
	began := time.Now()
	f.fillWith(t, 0, many, runs.Archived)
	filled := time.Since(began)
	f.servers[0].restart()
	began = time.Now()
	q := &runs.Query{State: runs.Archived, Limit: 100}
	var first []*runs.Run
	var next string
	for end := began.Add(10 * time.Minute); len(first) == 0; {
		var err error
		if first, next, err = f.runs.Page(t.Context(), q); err != nil && time.Now().After(end) {
			t.Fatal(err)
		}
	}
	ready := time.Since(began)
	used := f.serverTime(t)
	began = time.Now()
	pages := 20
	seen := map[string]bool{}
	for range pages {
		q.Before = next
		var err error
		if first, next, err = f.runs.Page(t.Context(), q); err != nil || len(first) != 100 {
			t.Fatalf("a page of %d runs, %v", len(first), err)
		}
		for _, run := range first {
			if seen[run.ID] || run.State != runs.Archived {
				t.Errorf("%s (%s) is listed again or wrongly", run.ID, run.State)
			}
			seen[run.ID] = true
		}
	}
	page := time.Since(began) / time.Duration(pages)
	cost := (f.serverTime(t) - used) / time.Duration(pages)
	out := f.operator(t, "runs", "ls", "--state", "archived", "--limit", "10", "--json")
	if strings.Count(out, "\n") != 10 {
		t.Errorf("the command lists %q", out)
	}
	var disk int64
	_ = filepath.Walk(filepath.Join(f.dir, "store"), func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			disk += info.Size()
		}
		return nil
	})
	t.Logf("%d runs kept in %s (%.0f/s), %d MB on the disk; the server is ready to list them %s after a start; a page of 100 takes %s and %s of its processor time; it has %d MB, and had %d MB without them",
		many, filled.Round(time.Second), float64(many)/filled.Seconds(), disk>>20, ready.Round(10*time.Millisecond), page.Round(time.Millisecond), cost, f.resident(t)>>20, before>>20)
}
