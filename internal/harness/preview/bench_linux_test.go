package preview_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/harness/preview"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// BenchmarkPreview measures what a preview costs over the same command without one,
// both in turn so that noise falls on both:
//
//	go test ./internal/harness/preview -run '^$' -bench Preview -benchtime 200x
func BenchmarkPreview(b *testing.B) {
	p := newBench(b, nil)
	many(b, p.project, 5000)
	settle()
	request := p.request
	request.Command = shellrun.Request{Command: "true"}
	var plain, previewed []time.Duration
	once := func() {
		start := time.Now()
		if _, err := p.shell.Run(context.Background(), request.Command); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		r, err := preview.Run(context.Background(), request)
		if err != nil || r.Changed() {
			b.Fatal(err, r.Changed())
		}
		plain, previewed = append(plain, middle.Sub(start)), append(previewed, time.Since(middle))
		if err := r.Drop(); err != nil {
			b.Fatal(err)
		}
	}
	once() // starts the box
	plain, previewed = nil, nil
	for b.Loop() {
		once()
	}
	b.ReportMetric(float64(median(plain).Microseconds()), "p50-plain-µs")
	b.ReportMetric(float64(median(previewed).Microseconds()), "p50-preview-µs")
	b.ReportMetric(float64((median(previewed) - median(plain)).Microseconds()), "p50-over-µs")
	b.ReportMetric(float64((slices.Min(previewed) - slices.Min(plain)).Microseconds()), "min-over-µs") // what is left of it without other work
}

// BenchmarkRead measures reading 5,000 changed files and their previous versions, and
// the same 10,000 files by os.ReadFile in turn. On a machine that does other work too,
// the processor's time says more than the clock.
//
//	go test ./internal/harness/preview -run '^$' -bench Read -benchtime 20x
func BenchmarkRead(b *testing.B) {
	p := newBench(b, nil)
	many(b, p.project, 5000)
	settle()
	layer := b.TempDir()
	many(b, layer, 5000)
	for i := range 5000 {
		if err := os.WriteFile(name(layer, i), fmt.Appendf(nil, "changed %d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(20 * time.Millisecond)
	var read, plain []time.Duration
	for b.Loop() {
		start := processorTime(b)
		n, err := preview.ReadLayer(p.project, layer)
		if err != nil || n != 5000 {
			b.Fatal(n, err)
		}
		middle := processorTime(b)
		for i := range 5000 {
			for _, dir := range []string{p.project, layer} {
				if _, err := os.ReadFile(name(dir, i)); err != nil {
					b.Fatal(err)
				}
			}
		}
		read, plain = append(read, middle-start), append(plain, processorTime(b)-middle)
	}
	b.ReportMetric(float64(median(read).Microseconds())/1000, "p50-cpu-ms")
	b.ReportMetric(float64(median(plain).Microseconds())/1000, "p50-plain-cpu-ms")
}

// processorTime is what this process has used of the processors.
func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func many(b *testing.B, dir string, n int) {
	for i := range n {
		path := name(dir, i)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "file %d\nof many\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

func name(dir string, i int) string {
	return filepath.Join(dir, fmt.Sprintf("d%02d/e%d/file%d.txt", i%20, i%7, i))
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}
