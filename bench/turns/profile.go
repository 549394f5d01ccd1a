package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// profile writes what the processor does in turns of conversations: each begins, takes
// some turns with a call and ends. The compiler makes use of it; see bench/pgo.
func profile(ctx context.Context, o *options) (err error) {
	s, err := newStage(1)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.moveIn(); err != nil {
		return err
	}
	url, stop, err := startModel(ctx, s.file(0))
	if err != nil {
		return err
	}
	defer stop()
	file, err := os.Create(o.profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	const turns = 20
	conversations := cmp.Or(o.turns, 400) / turns
	for range max(conversations, 1) {
		c := &crowd{o: o, dir: s.dir, url: url}
		err := c.grow(ctx, 1)
		for n := 1; n < turns && err == nil; n++ {
			err = c.turn(ctx, c.talks)
		}
		c.close()
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(o.out, "%d conversations of %d turns are in %s\n", max(conversations, 1), turns, o.profile)
	return nil
}
