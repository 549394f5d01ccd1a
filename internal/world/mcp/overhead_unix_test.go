//go:build unix

package mcp_test

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp"
)

// TestACallCostsLittleMoreThanTheBareSDK holds calls to processor time, which other load does not
// change much, and to 50 µs at the median where the machine is not busy. Both have slack: the best
// of some batches counts, and twice the bound is let pass. bench/mcp measures it at length.
func TestACallCostsLittleMoreThanTheBareSDK(t *testing.T) {
	entry := badEntry("modern")
	h := newHost(t, nil)
	h.Start([]mcp.Server{entry})
	wait(t, h)
	cmd := exec.Command(entry.Command)
	cmd.Env = append(os.Environ(), badEnv+"=modern")
	raw, err := sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	ours := func() {
		if got := tell(call(t, h, "bad", "greet", `{"name":"Ada"}`)); got != "hello Ada" {
			t.Fatal(got)
		}
	}
	theirs := func() {
		if _, err := raw.CallTool(context.Background(), &sdk.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "Ada"}}); err != nil {
			t.Fatal(err)
		}
	}
	const batches, each = 5, 200
	more, ratio := time.Hour, 1e9
	for range batches {
		var times [2][]time.Duration
		var work [2]time.Duration
		for range each {
			for i, f := range []func(){ours, theirs} {
				begin, before := time.Now(), processorTime(t)
				f()
				times[i] = append(times[i], time.Since(begin))
				work[i] += processorTime(t) - before
			}
		}
		slices.Sort(times[0])
		slices.Sort(times[1])
		more = min(more, times[0][each/2]-times[1][each/2])
		ratio = min(ratio, float64(work[0])/float64(max(work[1], 1)))
	}
	load := machineLoad()
	t.Logf("%s more at the median, %.2f of the processor time of the bare SDK; load %.1f on %d processors", more, ratio, load, runtime.NumCPU())
	if ratio > 2 {
		t.Errorf("a call takes %.2f times the processor time of one by the bare SDK", ratio)
	}
	if load < float64(runtime.NumCPU()) && more > 2*50*time.Microsecond {
		t.Errorf("a call takes %s more than one by the bare SDK", more)
	}
}

// processorTime is what this process has used of processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// machineLoad is the load of the last minute; where it cannot be known the machine counts as busy.
func machineLoad() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 1e9
	}
	load, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		return 1e9
	}
	return load
}
