package main

import (
	"fmt"
	"math"
	"syscall"
	"time"
)

// cost is what one run took.
type cost struct{ wall, cpu time.Duration }

// measure runs f and gives what it cost, with the children it waited for.
func measure(f func() error) (cost, error) {
	cpu, start := cpuTime(), time.Now()
	err := f()
	return cost{time.Since(start), cpuTime() - cpu}, err
}

func cpuTime() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return total
}

// least keeps the smaller of each figure.
func (c cost) least(o cost) cost { return cost{min(c.wall, o.wall), min(c.cpu, o.cpu)} }

func (c cost) plus(o cost) cost { return cost{c.wall + o.wall, c.cpu + o.cpu} }

var never = cost{math.MaxInt64, math.MaxInt64}

// ratio writes how many times less c took than base: CPU, and wall in parentheses.
func ratio(base, c cost) string {
	return fmt.Sprintf("%s (%s)", times(base.cpu, c.cpu), times(base.wall, c.wall))
}

func times(base, d time.Duration) string {
	r := float64(base) / float64(max(d, time.Microsecond))
	if r < 10 {
		return fmt.Sprintf("%.1f", r)
	}
	return fmt.Sprintf("%.0f", r)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/1e6) }
