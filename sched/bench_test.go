package sched_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

func noop() tool.Tool {
	return echo(func(d *tool.Def[note, string]) {
		d.Marks = func(note) tool.Marks { return tool.Marks{ReadOnly: true, ConcurrencySafe: true} }
		d.Run = func(context.Context, *tool.Call, note) (string, error) { return "ok", nil }
	})
}

func BenchmarkNoOpCallThroughThePipeline(b *testing.B) {
	s := sched.New(allowAll())
	tools := set(noop())
	in := []byte(`{"text":"hello","count":3}`)
	b.ReportAllocs()
	for b.Loop() {
		if out := s.Call(b.Context(), tools, "toolu_1", "Echo", in); out.IsError() {
			b.Fatal(out.Result.Text())
		}
	}
}

const crowd = 10_000

// BenchmarkTenThousandCalls compares a batch of 10,000 safe calls with a bare
// pool of goroutines that takes the same calls through the pipeline one by one.
func BenchmarkTenThousandCalls(b *testing.B) {
	s := sched.New(allowAll())
	tools := set(noop())
	in := []byte(`{"text":"hello","count":3}`)
	b.Run("batch", func(b *testing.B) {
		for b.Loop() {
			batch := s.Start(b.Context(), &sched.BatchOptions{Tools: tools})
			for range crowd {
				batch.Add("toolu_1", "Echo", in)
			}
			batch.End()
			for out := range batch.Outcomes() {
				if out.IsError() {
					b.Fatal(out.Result.Text())
				}
			}
		}
	})
	b.Run("pool", func(b *testing.B) {
		for b.Loop() {
			work := make(chan struct{}, crowd)
			for range crowd {
				work <- struct{}{}
			}
			close(work)
			var workers sync.WaitGroup
			for range runtime.GOMAXPROCS(0) {
				workers.Go(func() {
					for range work {
						s.Call(b.Context(), tools, "toolu_1", "Echo", in)
					}
				})
			}
			workers.Wait()
		}
	})
}

func TestANoOpCallAllocatesLittle(t *testing.T) {
	s := sched.New(allowAll())
	tools := set(noop())
	in := []byte(`{"text":"hello","count":3}`)
	const most = 60
	if n := testing.AllocsPerRun(200, func() { s.Call(t.Context(), tools, "toolu_1", "Echo", in) }); n > most {
		t.Errorf("%.0f allocations, want at most %d", n, most)
	}
}
