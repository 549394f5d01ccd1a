package sched_test

import (
	"context"
	"crypto/sha256"
	"fmt"
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

// BenchmarkTenThousandCalls compares a batch of 10,000 safe calls with bare pools
// of goroutines: one that takes each call through the pipeline by itself, and one
// that calls the tool's function directly, with a tool that computes for about
// as long as reading a small file takes.
func BenchmarkTenThousandCalls(b *testing.B) {
	in := []byte(`{"text":"hello","count":3}`)
	for _, c := range []struct {
		name string
		tool tool.Tool
	}{{"no-op", noop()}, {"work", busy()}} {
		s := sched.New(allowAll())
		tools := set(c.tool)
		b.Run(c.name+"/batch", func(b *testing.B) {
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
		b.Run(c.name+"/pool of calls", func(b *testing.B) {
			for b.Loop() {
				inPool(func() { s.Call(b.Context(), tools, "toolu_1", "Echo", in) })
			}
		})
		b.Run(c.name+"/pool of bare functions", func(b *testing.B) {
			for b.Loop() {
				inPool(func() { c.tool.Run(b.Context(), &tool.Call{Input: in}) })
			}
		})
	}
}

// inPool does the work of a crowd with one goroutine per processor.
func inPool(work func()) {
	jobs := make(chan struct{}, crowd)
	for range crowd {
		jobs <- struct{}{}
	}
	close(jobs)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for range jobs {
				work()
			}
		})
	}
	workers.Wait()
}

// busy returns a tool that computes for some tens of microseconds.
func busy() tool.Tool {
	data := make([]byte, 32<<10)
	return echo(func(d *tool.Def[note, string]) {
		d.Marks = func(note) tool.Marks { return tool.Marks{ReadOnly: true, ConcurrencySafe: true} }
		d.Run = func(context.Context, *tool.Call, note) (string, error) {
			return fmt.Sprintf("%x", sha256.Sum256(data)), nil
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

// A session's context outlives its calls and must not hold on to them.
func TestACallLeavesNothingInItsContext(t *testing.T) {
	s := sched.New(allowAll())
	tools := set(noop())
	in := []byte(`{}`)
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s.Call(t.Context(), tools, "toolu_1", "Echo", in)
	before := held()
	for range 20_000 {
		s.Call(t.Context(), tools, "toolu_1", "Echo", in)
	}
	if after := held(); after > before+4<<20 {
		t.Errorf("20,000 calls left %d bytes behind", after-before)
	}
}
