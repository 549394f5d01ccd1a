package shellrun

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkOverhead measures what a call costs over a bare fork and exec of
// bash, both in turn so that noise falls on both.
func BenchmarkOverhead(b *testing.B) {
	for _, mode := range []struct {
		name     string
		noCgroup bool
	}{{"cgroup", false}, {"scan", true}} {
		b.Run(mode.name, func(b *testing.B) {
			s := newTestHost(b, func(o *Options) { o.NoCgroup = mode.noCgroup }).NewShell("/")
			run(b, s, "true")
			var bare, ours []time.Duration
			for b.Loop() {
				start := time.Now()
				cmd := exec.Command("bash", "-c", "true")
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				run(b, s, "true")
				bare, ours = append(bare, middle.Sub(start)), append(ours, time.Since(middle))
			}
			over := median(ours) - median(bare)
			b.ReportMetric(float64(median(bare).Microseconds()), "p50-bare-µs")
			b.ReportMetric(float64(median(ours).Microseconds()), "p50-ours-µs")
			b.ReportMetric(float64(over.Microseconds()), "p50-overhead-µs")
			if len(ours) >= 100 && over > 1500*time.Microsecond {
				b.Errorf("a call costs %v over fork and exec, the budget is 1.5 ms", over)
			}
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
