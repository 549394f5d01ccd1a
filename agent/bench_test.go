package agent_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// instant is a model that answers at once and reads nothing: with a call for as
// long as it is told to. It notes when it was asked and, if it should weigh, what
// had been allocated by then.
type instant struct {
	calls     int
	weigh     bool
	at        []time.Time
	allocated []uint64
}

func (m *instant) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		n := len(m.at)
		m.at = append(m.at, time.Now())
		if m.weigh {
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			m.allocated = append(m.allocated, mem.TotalAlloc)
		}
		answer := text("Done.")
		if n < m.calls {
			answer = say(fmt.Sprint("u", n), fmt.Sprint("payload ", n))
		}
		for _, ev := range events("msg", model.EndTurn, answer) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// rounds runs a turn in which the model makes all its calls.
func rounds(t testing.TB, m *instant, j agent.Journal) {
	o := world(nil)
	o.Model, o.Journal = m, j
	o.Context.CompactAt = -1
	a := start(t, o)
	a.Send(userSays("go"))
	for range a.Run(t.Context()) {
	}
	if len(m.at) != m.calls+1 {
		t.Fatalf("%d requests, want %d", len(m.at), m.calls+1)
	}
}

// What a round costs does not grow with the conversation.
func TestRoundsStayCheap(t *testing.T) {
	m := &instant{calls: 1000, weigh: true}
	rounds(t, m, nil)
	steps := func(from int) (median uint64) {
		var grew []uint64
		for i := from; i < from+20; i++ {
			grew = append(grew, m.allocated[i+1]-m.allocated[i])
		}
		slices.Sort(grew)
		return grew[len(grew)/2]
	}
	if early, late := steps(10), steps(len(m.allocated)-25); late > 2*early {
		t.Errorf("a round allocates %d bytes at the beginning and %d after 1,000 rounds", early, late)
	}
}

// BenchmarkRound is what a model's answer with one call costs in this process,
// from one request to the next; the metrics compare the 10th with the last, the
// 1,000th or later.
func BenchmarkRound(b *testing.B) {
	for _, c := range []struct {
		name    string
		journal func(*testing.B) agent.Journal
	}{
		{"in memory", func(*testing.B) agent.Journal { return nil }},
		{"written down", func(b *testing.B) agent.Journal {
			s, err := session.Open(b.TempDir()).Create(b.Context(), &session.CreateOptions{Cwd: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Close() })
			return s
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := max(b.N, 1000)
			m := &instant{calls: n}
			rounds(b, m, c.journal(b))
			at := m.at
			took := func(from int) time.Duration {
				var ds []time.Duration
				for i := from; i < from+20; i++ {
					ds = append(ds, at[i+1].Sub(at[i]))
				}
				slices.Sort(ds)
				return ds[len(ds)/2]
			}
			b.ReportMetric(float64(at[n].Sub(at[0]).Nanoseconds())/float64(n), "ns/round")
			b.ReportMetric(float64(took(10).Nanoseconds()), "ns/10th")
			b.ReportMetric(float64(took(n-21).Nanoseconds()), "ns/last")
		})
	}
}

// BenchmarkNew is what a conversation costs before it is used.
func BenchmarkNew(b *testing.B) {
	set := tool.NewSet(nil, []tool.Tool{echo()}, nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := agent.New(&agent.Options{Model: &instant{}, ModelName: "m", Tools: set}); err != nil {
			b.Fatal(err)
		}
	}
}
