package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
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

// samples are the costs of the same thing, measured again and again.
type samples []cost

// median is that of each figure by itself.
func (s samples) median() cost {
	walls, cpus := make([]time.Duration, len(s)), make([]time.Duration, len(s))
	for i, c := range s {
		walls[i], cpus[i] = c.wall, c.cpu
	}
	return cost{median(walls), median(cpus)}
}

// least is that of each figure by itself: what it takes when nobody disturbs.
func (s samples) least() cost {
	l := s[0]
	for _, c := range s {
		l = cost{min(l.wall, c.wall), min(l.cpu, c.cpu)}
	}
	return l
}

// add measures f once more.
func (s *samples) add(f func() error) error {
	c, err := measure(f)
	*s = append(*s, c)
	return err
}

func (c cost) plus(o cost) cost { return cost{c.wall + o.wall, c.cpu + o.cpu} }

func times(base, d time.Duration) string {
	r := float64(base) / float64(max(d, time.Microsecond))
	if r < 10 {
		return fmt.Sprintf("%.1f", r)
	}
	return fmt.Sprintf("%.0f", r)
}

func median(ds []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(ds))
	return s[len(s)/2]
}

// load is how busy the machine is: the one-minute load average.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
