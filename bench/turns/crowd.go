package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
)

// modelEnv makes this program the model of [density], so that only one side of
// each connection is in the process that is measured.
const modelEnv = "HAFT_BENCH_TURNS_MODEL"

// density holds many conversations at once: all take a turn with a call at the
// same time, then wait, then take another.
func density(ctx context.Context, o *options) error {
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
	c := &crowd{o: o, dir: s.dir, url: url}
	defer c.close()
	if err := c.grow(ctx, 1); err != nil { // what is made once is made now
		return err
	}
	before := inUse()
	if err := c.grow(ctx, o.sessions); err != nil {
		return err
	}
	idle := inUse()
	if err := c.turn(ctx, c.talks); err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%d conversations, each with its own world, policy, hooks and journal: all took two turns with a Read, at the same time\n", o.sessions)
	fmt.Fprintf(o.out, "each takes, waiting after its first turn: %d KB of heap and stacks, %d KB of resident memory (load average %s)\n",
		(idle.heap-before.heap)/int64(o.sessions)>>10, (idle.rss-before.rss)/int64(o.sessions)>>10, load())
	return nil
}

func startModel(ctx context.Context, file string) (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), modelEnv+"="+file)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { in.Close(); _ = cmd.Wait() } // it was told to end
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("start the model: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}

// A crowd is conversations.
type crowd struct {
	o        *options
	dir, url string
	talks    []*harness.Conversation
}

// grow adds n conversations and lets each take its first turn.
func (c *crowd) grow(ctx context.Context, n int) error {
	var added []*harness.Conversation
	for range n {
		w, err := harness.Open(&harness.Options{Dir: c.dir, Reexec: c.o.reexec})
		if err != nil {
			return err
		}
		t, err := w.Talk(ctx, &harness.TalkOptions{Client: anthropic.New(&anthropic.Options{BaseURL: c.url}), Model: "scripted"})
		if err != nil {
			return errors.Join(err, w.Close())
		}
		added = append(added, t)
		c.talks = append(c.talks, t)
	}
	return c.turn(ctx, added)
}

// turn lets conversations take a turn at once, and fails unless all complete it.
func (c *crowd) turn(ctx context.Context, talks []*harness.Conversation) error {
	errs := make([]error, len(talks))
	var all sync.WaitGroup
	for i, t := range talks {
		all.Go(func() { errs[i] = take(ctx, t) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func take(ctx context.Context, t *harness.Conversation) error {
	t.Send(agent.Prompt{Content: []model.Block{model.TextOf("hello")}})
	var last agent.Result
	for ev, err := range t.Run(ctx) {
		if err != nil {
			return err
		}
		if r, ok := ev.(agent.Result); ok {
			last = r
		}
	}
	if last.Reason != agent.Completed || last.Text != "done" || last.Calls != 1 {
		return fmt.Errorf("a conversation ended with %s after %d calls: %q %s", last.Reason, last.Calls, last.Text, strings.Join(last.Errors, "; "))
	}
	return nil
}

func (c *crowd) close() {
	var all sync.WaitGroup
	for _, t := range c.talks {
		all.Go(func() { _ = t.Close(context.Background()) }) // it is over
	}
	all.Wait()
}

type memory struct{ heap, rss int64 }

func inUse() memory {
	debug.FreeOSMemory() // as the runtime does by and by in a process that waits
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return memory{int64(s.HeapInuse + s.StackInuse), resident()}
}

// resident is the memory of this process that the kernel counts; 0 where there
// is no /proc.
func resident() int64 {
	raw, err := os.ReadFile(filepath.Join("/proc", "self", "statm"))
	var size, pages int64
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(raw), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
