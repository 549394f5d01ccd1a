package main

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// grow plays one long conversation and compares turns around the tenth with the
// last ones: from the last byte of an answer to the first byte of the next
// request, so that the time it takes to send an ever longer one is left out.
func grow(ctx context.Context, o *options, players []*player) error {
	turns := cmp.Or(o.turns, 1000)
	if turns < 40 {
		return fmt.Errorf("-grow needs 40 turns or more")
	}
	for _, a := range players {
		_, got, err := play(ctx, a, o.work, turns, turns)
		if err != nil {
			return err
		}
		early, late := own(got[5:25]), own(got[turns-19:])
		fmt.Fprintf(o.out, "%-6s turn 10: %s, with sending %s; turn %d: %s (%.2f times), with sending %s\n",
			a.name, ms(early[0]), ms(early[1]), turns, ms(late[0]), ratio(late[0], early[0]), ms(late[1]))
	}
	fmt.Fprintf(o.out, "medians of 20 turns around each, load average %s\n", load())
	return nil
}

// own are the medians until a request begins, and until it is there.
func own(turns []arrival) [2]time.Duration {
	var begins, ends []time.Duration
	for _, t := range turns {
		begins = append(begins, t.begun.Sub(t.answered))
		ends = append(ends, t.at.Sub(t.answered))
	}
	return [2]time.Duration{median(begins), median(ends)}
}
