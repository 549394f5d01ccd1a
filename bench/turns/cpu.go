package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// A cost is the processor time of a conversation with one call, and what each further
// call adds: the least of all rounds, which other work on the machine disturbs least.
type cost struct{ start, turn time.Duration }

// costs plays short and long conversations through all players, in turn.
func costs(ctx context.Context, players []*player, work string, turns, rounds int) (map[*player]cost, error) {
	short, long := map[*player]time.Duration{}, map[*player]time.Duration{}
	for range rounds {
		for _, p := range players {
			for n, least := range map[int]map[*player]time.Duration{1: short, 1 + turns: long} {
				f, _, err := play(ctx, p, work, n, files)
				if err != nil {
					return nil, err
				}
				if least[p] == 0 || f.cpu < least[p] {
					least[p] = f.cpu
				}
			}
		}
	}
	out := map[*player]cost{}
	for _, p := range players {
		out[p] = cost{short[p], max(0, long[p]-short[p]) / time.Duration(turns)}
	}
	return out, nil
}

// compareCPU prints costs, and how many times the floor's they are.
func compareCPU(ctx context.Context, o *options, players []*player) error {
	turns := cmp.Or(o.turns, 100)
	found, err := costs(ctx, players, o.work, turns, o.reps)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "processor time, the least of %d rounds, %d %s turns, load average %s; in parentheses: times the floor's\n\n", o.reps, turns, o.work, load())
	w := tabwriter.NewWriter(o.out, 0, 4, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "\tone call, from start to end\teach further call")
	floor := found[players[1]]
	for _, p := range players {
		fmt.Fprintf(w, "%s\t%s (%.1f)\t%s (%.1f)\n", p.name, ms(found[p].start), ratio(found[p].start, floor.start), ms(found[p].turn), ratio(found[p].turn, floor.turn))
	}
	return nil
}

// others are further builds of haft.
func others(haft *player, list string) (players []*player) {
	for name := range strings.SplitSeq(list, ",") {
		if name, path, ok := strings.Cut(name, "="); ok {
			p := *haft
			p.name, p.path = name, path
			players = append(players, &p)
		}
	}
	return players
}
