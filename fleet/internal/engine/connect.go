package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ConnectOptions say who connects. Nil means all zero values.
type ConnectOptions struct {
	// Key is the file of an NKey seed; "" means none.
	Key string
	// TLS checks the server's certificate; nil means the system's authorities.
	TLS *tls.Config
	// Name is shown to operators.
	Name string
}

// A Conn is a connection to the engine. It is safe for concurrent use and reconnects by
// itself for as long as it takes.
type Conn struct {
	NATS *nats.Conn
	JS   jetstream.JetStream

	handles sync.Map // of streams and buckets by name: looking one up asks the server
}

// Connect connects, and waits for a server that is not there yet until ctx ends.
func Connect(ctx context.Context, url string, o *ConnectOptions) (*Conn, error) {
	if o == nil {
		o = &ConnectOptions{}
	}
	opts := []nats.Option{
		nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, time.Second),
		// What is published while the server is away fails at once: its sender has to look
		// what became of it anyway.
		nats.ReconnectBufSize(-1), nats.IgnoreAuthErrorAbort(),
	}
	if o.Key != "" {
		key, err := nats.NkeyOptionFromSeed(o.Key)
		if err != nil {
			return nil, fmt.Errorf("could not read the key %s: %w", o.Key, err)
		}
		opts = append(opts, key)
	}
	if o.TLS != nil {
		opts = append(opts, nats.Secure(o.TLS))
	}
	for {
		nc, err := nats.Connect(url, opts...)
		if err == nil {
			js, err := jetstream.New(nc)
			if err != nil {
				nc.Close()
				return nil, fmt.Errorf("could not connect to %s: %w", url, err)
			}
			return &Conn{NATS: nc, JS: js}, nil
		}
		if errors.Is(err, nats.ErrAuthorization) {
			return nil, fmt.Errorf("could not connect to %s: the server does not accept the key. Give the right one with --key (%w)", url, err)
		}
		if !errors.Is(err, nats.ErrNoServers) || ctx.Err() != nil {
			return nil, fmt.Errorf("could not connect to %s: %w", url, err)
		}
		if Pause(ctx, 200*time.Millisecond) != nil {
			return nil, fmt.Errorf("could not connect to %s: %w", url, err)
		}
	}
}

// Stream returns a stream.
func (c *Conn) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return handle(ctx, c, "stream "+name, func(ctx context.Context) (jetstream.Stream, error) { return c.JS.Stream(ctx, name) })
}

// Bucket returns a bucket of values.
func (c *Conn) Bucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	return handle(ctx, c, "bucket "+name, func(ctx context.Context) (jetstream.KeyValue, error) { return c.JS.KeyValue(ctx, name) })
}

// Objects returns the store of contents.
func (c *Conn) Objects(ctx context.Context) (jetstream.ObjectStore, error) {
	return handle(ctx, c, "objects", func(ctx context.Context) (jetstream.ObjectStore, error) { return c.JS.ObjectStore(ctx, Blobs) })
}

func handle[T any](ctx context.Context, c *Conn, key string, look func(context.Context) (T, error)) (T, error) {
	if h, ok := c.handles.Load(key); ok {
		return h.(T), nil
	}
	h, err := look(ctx)
	if err == nil {
		c.handles.Store(key, h)
	}
	return h, err
}

// Close closes the connection.
func (c *Conn) Close() { c.NATS.Close() }

// Pause waits, unless ctx ends before.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Try repeats what may fail while a server is away, until it succeeds, says that trying
// again is useless, or ctx ends.
func Try(ctx context.Context, do func(context.Context) (again bool, err error)) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		attempt, cancel := Attempt(ctx)
		again, err := do(attempt)
		cancel()
		if err == nil || !again || errors.Is(err, nats.ErrMaxPayload) { // a message does not get smaller
			return Explain(err)
		}
		if Pause(ctx, wait) != nil {
			return Explain(err)
		}
	}
}

// Attempt returns a context for one request: the answer of a server that was killed never
// comes, so it must not be waited for until ctx ends.
func Attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 5*time.Second)
}
