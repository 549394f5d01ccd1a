package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/tunnel"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/session"
)

// Speak implements [serve.Backend]: a worker leads the conversation, and what it and the
// program say to each other is passed on as it is.
func (b *Backend) Speak(ctx context.Context, in *serve.Launching, conn io.ReadWriter) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	said, gone := readAhead(ctx, conn)
	worker, err := b.find(gone, in)
	if err != nil {
		serve.Lead(ctx, conn, func(io.Writer) (*headless.Options, error) { return nil, err })
		return
	}
	defer worker.Close()
	context.AfterFunc(ctx, func() { worker.Close() })
	go func() {
		defer worker.Close() // the program has gone, and does not end by itself
		_, _ = io.Copy(worker, said)
	}()
	last := &tail{Writer: conn}
	_, _ = io.Copy(last, worker)
	if !bytes.Contains(last.end, []byte(`"haft_exit"`)) {
		fmt.Fprintf(conn, "{\"type\":\"haft_stderr\",\"line\":%q}\n{\"type\":\"haft_exit\",\"code\":1}\n", "The worker that ran the conversation was lost. Resume the session to continue.")
	}
}

// aheadMost is how many reads of what a program says are kept until a worker hears it.
const aheadMost = 64

// readAhead reads what a program says. Gone ends when the program has, even while nobody hears
// it yet: the wait for a worker ends then.
func readAhead(ctx context.Context, conn io.Reader) (said io.Reader, gone context.Context) {
	gone, end := context.WithCancel(ctx)
	parts := make(chan []byte, aheadMost)
	r, w := io.Pipe()
	go func() {
		defer end()
		defer close(parts)
		for {
			part := make([]byte, 32<<10)
			n, err := conn.Read(part)
			select {
			case parts <- part[:n]:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		for part := range parts {
			if _, err := w.Write(part); err != nil {
				break
			}
		}
		w.Close()
	}()
	context.AfterFunc(ctx, func() { r.Close() })
	return r, gone
}

// tail keeps the last bytes that were written.
type tail struct {
	io.Writer
	end []byte
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p...)
	t.end = t.end[max(0, len(t.end)-100):]
	return t.Writer.Write(p)
}

// find submits the conversation and waits for a worker that leads it.
func (b *Backend) find(ctx context.Context, in *serve.Launching) (net.Conn, error) {
	opts, err := launch.Program(in.Args, "fleet", io.Discard)
	if err != nil {
		return nil, err
	}
	id, err := b.which(ctx, in.Dir, opts)
	if err != nil {
		return nil, err
	}
	address := b.Conn.NATS.NewInbox()
	l, err := tunnel.Listen(b.Conn.NATS, address)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	context.AfterFunc(ctx, func() { l.Close() })
	if err := b.submit(ctx, &runs.Submission{ID: id, Dir: in.Dir, Prompt: runs.Prompt{Connect: address, Args: runs.FlagsFollow()}}); err != nil {
		return nil, err
	}
	conn, err := l.Accept()
	if err != nil {
		return nil, err
	}
	flags, err := json.Marshal(in.Args)
	if err == nil {
		_, err = conn.Write(append(flags, '\n'))
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// which is the run of a conversation: the one that is resumed, or a new one.
func (b *Backend) which(ctx context.Context, dir string, o *headless.Options) (string, error) {
	t := &o.Talk
	if t.Continue {
		list, err := b.List(ctx, &session.ListOptions{Cwd: dir, Limit: 1})
		if err != nil || len(list) == 0 {
			return "", errors.Join(err, fmt.Errorf("there is no session in %s to continue", dir))
		}
		if t.Fork {
			return "", errors.New("--continue cannot be used with --fork-session here: name the session with --resume instead")
		}
		return list[0].ID, nil
	}
	if t.Resume == "" || t.Fork {
		return cmp.Or(t.ID, session.NewUUID()), nil
	}
	if _, err := b.run(ctx, t.Resume); err != nil {
		return "", fmt.Errorf("could not resume session %s: %w", t.Resume, err)
	}
	return t.Resume, nil
}
