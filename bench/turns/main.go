// Command turns measures the agent loop: it plays the same scripted turns through
// haft, through the floor (the least code that can play them) and, with -peers,
// through other agents as people install them, one after the other in each round
// so that all meet the same noise. Only ratios within one run carry over.
//
//	go run ./bench/turns                      haft and the floor
//	go run ./bench/turns -peers -work bash    beside Claude Code, codex and opencode
//	go run ./bench/turns -grow                what a turn costs late in a conversation
//	go run ./bench/turns -density             a thousand conversations in one process
//
// Peers are installed with npm, pinned, below the user's cache folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/haftdev/haft/shellrun"
)

type options struct {
	turns, reps, sessions int
	work                  string
	peers, grow, density  bool
	only                  string
	ours                  []*player // nil builds them
	out, log              io.Writer
	reexec                shellrun.Reexec
}

func main() {
	reexec := shellrun.Supervise()
	if os.Getenv(modelEnv) != "" {
		os.Exit(serveModel())
	}
	o := options{out: os.Stdout, log: os.Stderr, reexec: reexec}
	flag.IntVar(&o.turns, "turns", 0, "how many turns with a call (40, or 1000 with -grow)")
	flag.IntVar(&o.reps, "reps", 5, "how often each plays")
	flag.IntVar(&o.sessions, "sessions", 1000, "with -density: how many conversations")
	flag.StringVar(&o.work, "work", "read", "what each turn does: read or bash")
	flag.BoolVar(&o.peers, "peers", false, "play through the agents of others, too")
	flag.StringVar(&o.only, "only", "", "of all, only these, separated by commas")
	flag.BoolVar(&o.grow, "grow", false, "compare early turns with late ones")
	flag.BoolVar(&o.density, "density", false, "hold many conversations in one process")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "bench/turns:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	if o.work != "read" && o.work != "bash" {
		return fmt.Errorf("-work %q: use read or bash", o.work)
	}
	if o.density {
		return density(ctx, o)
	}
	players := o.ours
	if players == nil {
		tmp, err := os.MkdirTemp("", "haft-turns-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		if players, err = buildOurs(ctx, tmp); err != nil {
			return err
		}
	}
	if o.grow {
		return grow(ctx, o, players)
	}
	if o.peers {
		peers, err := installPeers(ctx, o)
		if err != nil {
			return err
		}
		players = append(players, peers...)
	}
	if players = chosen(players, o.only); len(players) == 0 {
		return errors.New("-only leaves nobody")
	}
	return compare(ctx, o, players)
}

func chosen(all []*player, only string) []*player {
	if only == "" {
		return all
	}
	var some []*player
	for _, a := range all {
		if strings.Contains(","+only+",", ","+a.name+",") {
			some = append(some, a)
		}
	}
	return some
}
