package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"
	"time"
)

// lines is how many lines each file of a conversation that is resumed has: 12 KB with
// their numbers, so that what is resumed is mostly results, as it is after real work.
const lines = 300

// resume lets each player have the same conversation once and then continue it
// again and again, in turn with the others. The reference continues what it kept itself.
func resume(ctx context.Context, o *options, players []*player) error {
	turns := cmp.Or(o.turns, 200)
	stages := map[*player]*stage{}
	for _, p := range players {
		if !p.resumes {
			continue
		}
		s, err := longStage()
		if err != nil {
			return err
		}
		defer s.close()
		start := time.Now()
		if err := s.playLong(ctx, p, turns); err != nil {
			return err
		}
		fmt.Fprintf(o.log, "%s had a conversation of %d calls in %.1f s\n", p.name, turns, time.Since(start).Seconds())
		stages[p] = s
	}
	runs := map[*player][]figures{}
	for round := range o.reps {
		for _, p := range players {
			if stages[p] == nil {
				continue
			}
			f, err := stages[p].goOn(ctx, p, turns+1+round)
			if err != nil {
				return err
			}
			fmt.Fprintf(o.log, "round %d  %-9s first %s  CPU %s  %s\n", round+1, p.name, ms(f.first), ms(f.cpu), mb(f.rss))
			runs[p] = append(runs[p], f)
		}
	}
	fmt.Fprintf(o.out, "a conversation of %d calls is resumed, medians of %d rounds, load average %s; in parentheses: times haft's\n\n", turns, o.reps, load())
	w := tabwriter.NewWriter(o.out, 0, 4, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "\tstart to first request\tprocessor time to the end\tpeak memory")
	base := middle(runs[players[0]])
	for _, p := range players {
		if f := middle(runs[p]); len(runs[p]) > 0 {
			fmt.Fprintf(w, "%s\t%s (%.1f)\t%s (%.1f)\t%s (%.1f)\n", p.name, ms(f.first), ratio(f.first, base.first), ms(f.cpu), ratio(f.cpu, base.cpu), mb(f.rss), ratio(f.rss, base.rss))
		}
	}
	return nil
}

// longStage is a stage whose files are worth resuming.
func longStage() (*stage, error) {
	s, err := newStage(files)
	if err != nil {
		return nil, err
	}
	for i := range files {
		var text bytes.Buffer
		for line := range lines {
			fmt.Fprintf(&text, "func f%d_%d() int { return %d }\n", i, line, line)
		}
		if err := writeFile(s.file(i), text.String()); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}
