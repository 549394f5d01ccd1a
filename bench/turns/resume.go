package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/haftdev/haft/model/script"
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

// playLong plays the conversation that is resumed.
func (s *stage) playLong(ctx context.Context, p *player, turns int) error {
	model, err := watch(s.scenario(p, "read", turns, files), func(int) {})
	if err != nil {
		return err
	}
	defer model.Close()
	cmd, err := s.command(ctx, p, model.URL())
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil || len(model.arrivals()) != turns+1 {
		return fmt.Errorf("%s played %d of %d turns: %v\n%s", p.name, max(len(model.arrivals())-1, 0), turns, err, tail(out))
	}
	return nil
}

// goOn continues the conversation by one answer. The model must be asked with all
// answers that there were: a player that forgets or compacts is not compared.
func (s *stage) goOn(ctx context.Context, p *player, answers int) (figures, error) {
	var f figures
	var cmd *exec.Cmd
	var mu sync.Mutex
	var start time.Time
	seen := -1
	model, err := script.Serve(&script.Options{Keep: -1, Unchecked: true, Answer: func(r *script.Request) script.Turn {
		mu.Lock()
		defer mu.Unlock()
		if r.Tools > 0 && seen < 0 {
			seen, f.first, f.rss = r.Turn, r.At.Sub(start), memoryOf(int64(cmd.Process.Pid), "VmHWM:")
		}
		return script.Turn{Blocks: []script.Block{{Text: "done again"}}}
	}})
	if err != nil {
		return f, err
	}
	defer model.Close()
	if cmd, err = s.command(ctx, p, model.URL()); err != nil {
		return f, err
	}
	cmd.Args = append(cmd.Args, "--continue")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	mu.Lock()
	start = time.Now()
	err = cmd.Start()
	mu.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil || seen != answers {
		return f, fmt.Errorf("%s continued after %d answers, want %d: %v\n%s", p.name, seen, answers, err, tail(out.Bytes()))
	}
	f.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return f, nil
}
