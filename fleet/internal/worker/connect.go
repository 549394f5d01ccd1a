package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/tunnel"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/serve"
)

// connectTime is how long a program may take to answer.
const connectTime = 10 * time.Second

// lastTime is how long a program may take to hear the last words of a conversation.
const lastTime = 5 * time.Second

// endWith ends a conversation with a context. A program that does not listen is not waited for.
func endWith(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		_ = conn.SetReadDeadline(time.Now())
		_ = conn.SetWriteDeadline(time.Now().Add(lastTime))
	})
}

// flagsOf reads the flags of a program. They come over its connection, so that the engine
// keeps nothing of them; an API server of an older version sends them with the prompt.
func flagsOf(in *bufio.Reader, p runs.Prompt) (args []string, err error) {
	if !slices.Equal(p.Args, runs.FlagsFollow()) {
		return p.Args, nil
	}
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &args)
	}
	if err != nil {
		return nil, fmt.Errorf("could not read the program's flags: %w", err)
	}
	return args, nil
}

// connect lets the program that waits lead the conversation until it ends. It returns what is
// left to do. A program that has gone, or lost another worker, is not waited for.
func (l *leader) connect(pending []runs.Prompt) ([]runs.Prompt, error) {
	w, p := l.worker, pending[0]
	ctx, cancel := context.WithCancel(w.hard)
	defer cancel()
	control, err := w.Conn.NATS.Subscribe(w.runs.Control(l.run.ID), func(*nats.Msg) { cancel() })
	if err != nil {
		return nil, err
	}
	defer control.Unsubscribe()
	dial, stop := context.WithTimeout(ctx, connectTime)
	defer stop()
	out := &runs.Outcome{Reason: "connected", Text: "A program ran the conversation.", Worker: w.Name}
	conn, err := tunnel.Dial(dial, w.Conn.NATS, p.Connect)
	if err != nil {
		out = &runs.Outcome{IsError: true, Reason: "disconnected", Text: "The program that started the conversation has disconnected.", Worker: w.Name}
	} else {
		stop := endWith(ctx, conn)
		in := bufio.NewReader(conn)
		both := struct {
			io.Reader
			io.Writer
		}{in, conn}
		serve.Lead(ctx, both, func(log io.Writer) (*headless.Options, error) {
			args, err := flagsOf(in, p)
			if err != nil {
				return nil, err
			}
			if info, err := os.Stat(l.dir()); err != nil || !info.IsDir() {
				return nil, fmt.Errorf("%q is not a folder on the machine of the worker %s", l.dir(), w.Name)
			}
			opts, err := launch.Program(args, w.Version, log)
			if err == nil && len(l.run.Args) > 0 {
				opts, err = serve.Narrowed(l.run.Args, opts, w.Version, log)
			}
			if err == nil {
				l.equip(opts)
				opts.States = true
			}
			return opts, err
		})
		stop()
		conn.Close()
		l.closed()
	}
	if w.hard.Err() != nil {
		return pending, nil
	}
	if err := w.runs.Settle(w.hard, l.run.ID, p.UUID, out); err != nil {
		return nil, err
	}
	return l.more(pending)
}
