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
// long as it is told to.
type instant struct{ calls, made int }

func (m *instant) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		answer := text("Done.")
		if m.made < m.calls {
			m.made++
			answer = say(fmt.Sprint("u", m.made), fmt.Sprint("payload ", m.made))
		}
		for _, ev := range events("msg", model.EndTurn, answer) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// rounds runs a turn of n calls and returns when each request was made, and how
// much had been allocated by then.
func rounds(t testing.TB, n int, j agent.Journal) (at []time.Time, allocated []uint64) {
	o := world(nil)
	o.Model, o.Journal = &instant{calls: n}, j
	o.Context.CompactAt = -1
	a := start(t, o)
	a.Send(userSays("go"))
	for ev := range a.Run(t.Context()) {
		if _, ok := ev.(agent.Requesting); ok {
			at = append(at, time.Now())
			if len(at) < 40 || len(at) > n-40 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				allocated = append(allocated, m.TotalAlloc)
			} else {
				allocated = append(allocated, 0)
			}
		}
	}
	return at, allocated
}

// What a round costs does not grow with the conversation.
func TestRoundsStayCheap(t *testing.T) {
	const n = 1000
	at, allocated := rounds(t, n, nil)
	if len(at) != n+1 {
		t.Fatalf("%d requests, want %d", len(at), n+1)
	}
	var early, late []uint64
	for i := 5; i < 35; i++ {
		early = append(early, allocated[i+1]-allocated[i])
		late = append(late, allocated[n-i]-allocated[n-i-1])
	}
	slices.Sort(early)
	slices.Sort(late)
	if e, l := early[len(early)/2], late[len(late)/2]; l > 2*e {
		t.Errorf("a round allocates %d bytes at the beginning and %d after %d rounds", e, l, n)
	}
}

// BenchmarkRound is what a model's answer with one call costs in this process,
// from one request to the next; the metrics compare the 10th with the 1,000th.
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
			at, _ := rounds(b, n, c.journal(b))
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
