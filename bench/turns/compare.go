package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// compare plays the turns through all players, in turn, and prints medians with
// how many times haft's they are.
func compare(ctx context.Context, o *options, players []*player) error {
	turns, n := cmp.Or(o.turns, 40), files
	calls := turns
	if o.work == "crowd" {
		turns, n = 1, calls
	}
	runs := map[*player][]figures{}
	for round := range o.reps {
		for _, a := range players {
			if o.work == "read" && a.read[0] == "" || o.work == "mcp" && !a.mcp {
				continue // it reads files by commands, or has no servers
			}
			f, _, err := play(ctx, a, o.work, turns, n)
			if err != nil {
				return err
			}
			fmt.Fprintf(o.log, "round %d  %-9s first %s  turn %s  total %s  %s\n", round+1, a.name, ms(f.first), ms(f.turn), ms(f.total), mb(f.rss))
			runs[a] = append(runs[a], f)
		}
	}
	what := fmt.Sprintf("%d %s turns", turns, o.work)
	if o.work == "crowd" {
		what = fmt.Sprintf("one turn with %d calls", calls)
	}
	fmt.Fprintf(o.out, "%s, medians of %d rounds, load average %s; in parentheses: times haft's\n\n", what, o.reps, load())
	w := tabwriter.NewWriter(o.out, 0, 4, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "\tstart to first request\tper turn\ttotal\tprocessor time\tpeak memory\tanonymous memory")
	base := middle(runs[players[0]])
	for _, a := range players {
		if len(runs[a]) == 0 {
			continue
		}
		f := middle(runs[a])
		fmt.Fprintf(w, "%s\t%s (%.1f)\t%s (%.1f)\t%s (%.1f)\t%s (%.1f)\t%s (%.1f)\t%s (%.1f)\n", a.name, ms(f.first), ratio(f.first, base.first), ms(f.turn), ratio(f.turn, base.turn),
			ms(f.total), ratio(f.total, base.total), ms(f.cpu), ratio(f.cpu, base.cpu), mb(f.rss), ratio(f.rss, base.rss), mb(f.anon), ratio(f.anon, base.anon))
	}
	return nil
}

func middle(runs []figures) figures {
	pick := func(get func(figures) time.Duration) time.Duration {
		var all []time.Duration
		for _, r := range runs {
			all = append(all, get(r))
		}
		return median(all)
	}
	return figures{
		first: pick(func(f figures) time.Duration { return f.first }),
		turn:  pick(func(f figures) time.Duration { return f.turn }),
		total: pick(func(f figures) time.Duration { return f.total }),
		cpu:   pick(func(f figures) time.Duration { return f.cpu }),
		rss:   int64(pick(func(f figures) time.Duration { return time.Duration(f.rss) })),
		anon:  int64(pick(func(f figures) time.Duration { return time.Duration(f.anon) })),
	}
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func ratio[T ~int64](a, b T) float64 { return float64(a) / float64(max(b, 1)) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }

func mb(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

// load says how busy the machine is.
func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(raw))[:3], " ")
}
