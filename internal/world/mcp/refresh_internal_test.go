package mcp

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestABurstEndsWithQuiet(t *testing.T) {
	for name, c := range map[string]struct {
		notes int
		every time.Duration
		want  time.Duration // until the list is asked for
	}{
		"one note":                         {1, 0, quiet},
		"a thousand at once":               {1000, 0, quiet},
		"a few, each before the last ends": {5, quiet / 2, 3 * quiet},
		"without end":                      {1000, quiet / 2, tooOld},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				p := &peer{lent: lent{endpoint: endpoint{ctx: ctx}}, refreshing: true} // this test is the one that refreshes
				began := time.Now()
				p.stale(staleTools)
				var server sync.WaitGroup
				server.Go(func() {
					for range c.notes - 1 {
						time.Sleep(c.every)
						p.stale(staleTools)
					}
				})
				p.debounce()
				if took := time.Since(began); took < c.want || took > c.want+quiet {
					t.Errorf("calm after %v, want %v", took, c.want)
				}
				server.Wait()
			})
		})
	}
}
