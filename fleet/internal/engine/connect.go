package engine

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// ConnectOptions say who connects. Nil means all zero values.
type ConnectOptions struct {
	// Key is the file of a key, with permissions or without; "" means none. It is read again for each attempt to
	// connect, so that a key can be replaced.
	Key string
	// TLS checks the server's certificate; nil means the system's authorities.
	TLS *tls.Config
	// Name is shown to operators.
	Name string
	// Log hears when the server is gone, and when it is back; nil means nobody does.
	Log *slog.Logger
}

// A Conn is a connection to the engine. It is safe for concurrent use and reconnects by
// itself for as long as it takes.
type Conn struct {
	NATS *nats.Conn
	JS   jetstream.JetStream

	// Key and Role are those of a key with permissions; "" otherwise.
	Key  string
	Role Role

	handles sync.Map // of streams and buckets by name: looking one up asks the server
	// User is who uses the connection, as it is written down; "" if that is not known.
	User string
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
	if o.Log != nil {
		opts = append(opts, watchedBy(o.Log)...)
	}
	c := &Conn{}
	if o.Key != "" {
		key, err := c.readKey(o.Key)
		if err != nil {
			return nil, fmt.Errorf("could not read the key %s: %w", o.Key, err)
		}
		opts = append(opts, key...)
	}
	if o.TLS != nil {
		opts = append(opts, nats.Secure(o.TLS))
	}
	for began := time.Now(); ; {
		nc, err := nats.Connect(url, opts...)
		if err == nil {
			js, err := jetstream.New(nc)
			if err != nil {
				nc.Close()
				return nil, fmt.Errorf("could not connect to %s: %w", url, err)
			}
			c.NATS, c.JS = nc, js
			return c, nil
		}
		if errors.Is(err, nats.ErrAuthorization) {
			if time.Since(began) < noticeTime && Pause(ctx, 100*time.Millisecond) == nil {
				continue // the key may be new
			}
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

// noticeTime is how long a server may take to notice a new key.
const noticeTime = 2 * time.Second

// watchedBy writes down that the server is gone, that it is back, and what it forbids.
func watchedBy(log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() {
				log.Warn("the connection to the server is lost; trying to connect again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("connected to the server again", "server", nc.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("the server reports an error", "error", err)
		}),
	}
}

// readKey returns how to connect with a key.
func (c *Conn) readKey(file string) ([]nats.Option, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	token, err := nkeys.ParseDecoratedJWT(raw)
	if err != nil || token == string(raw) { // a bare key
		key, err := nats.NkeyOptionFromSeed(file)
		return []nats.Option{key}, err
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return nil, err
	}
	if c.Key = claims.Name; len(claims.Tags) > 0 {
		c.Role = Role(claims.Tags[0])
	}
	// A server that does not check keys by a chain of operators throws the usual field away, so they are in two.
	again := nats.TokenHandler(func() string {
		raw, err := os.ReadFile(file)
		if err != nil {
			return token // the old one may still do
		}
		now, _ := nkeys.ParseDecoratedJWT(raw) // it always has a result
		return now
	})
	return []nats.Option{nats.UserCredentials(file), again, nats.CustomInboxPrefix(Inbox(c.Key))}, nil
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

// CheckLayout refuses a server whose runs this version would not find or not understand. One
// that has none yet is fine.
func (c *Conn) CheckLayout(ctx context.Context) error {
	return Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := c.JS.Stream(ctx, Tasks)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return false, nil
		}
		if err == nil {
			err = checkLayout(s.CachedInfo().Config)
		}
		return retryable(err), err
	})
}

// Setup makes the streams, or changes them to what they should be. Replicas is 1 for one
// server and 3 for a cluster.
func (c *Conn) Setup(ctx context.Context, replicas int, limits Limits) error {
	file := func(name string, subjects ...string) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: name, Subjects: subjects, Storage: jetstream.FileStorage, Replicas: replicas, DenyDelete: false}
	}
	values := func(name string) jetstream.StreamConfig {
		config := bucket(file("KV_"+name, "$KV."+name+".>"))
		config.AllowRollup = limits.Previous
		return config
	}
	objects := file("OBJ_"+Blobs, "$O."+Blobs+".C.>", "$O."+Blobs+".M.>")
	objects.Discard, objects.AllowRollup = jetstream.DiscardNew, limits.Previous
	configs := []jetstream.StreamConfig{values(Questions), objects}
	for n := range uint32(Shards) {
		sessions := file(Sessions(n), fmt.Sprintf("p.%d.>", n), fmt.Sprintf("r.%d.>", n), fmt.Sprintf("w.%d.>", n))
		sessions.MaxMsgsPerSubject = 1
		configs = append(configs, file(Journals(n), fmt.Sprintf("j.%d.>", n)), sessions, values(Runs(n)))
	}
	tasks := file(Tasks, "task.>")
	// One task for each session: it says that there is something to do, not what.
	tasks.Retention, tasks.Discard, tasks.DiscardNewPerSubject, tasks.MaxMsgsPerSubject = jetstream.WorkQueuePolicy, jetstream.DiscardNew, true, 1
	tasks.Metadata = map[string]string{layoutKey: Layout}
	if tasks.MaxMsgs = int64(limits.Queued); limits.Running > 0 {
		tasks.Metadata[runningKey] = strconv.Itoa(limits.Running)
	}
	schedules := file(Schedules, "sched.>", "fire.>")
	schedules.AllowMsgSchedules, schedules.MaxMsgsPerSubject = true, 1
	audit := file(Audit, "audit.>")
	audit.DenyDelete, audit.DenyPurge, audit.MaxAge = true, true, AuditTime
	if err := c.CheckLayout(ctx); err != nil {
		return fmt.Errorf("cannot use the store: %w", err)
	}
	// The tasks come first: they say how the rest is laid out.
	for _, config := range append([]jetstream.StreamConfig{tasks, schedules, audit}, configs...) {
		if err := Try(ctx, func(ctx context.Context) (bool, error) {
			_, err := c.JS.CreateOrUpdateStream(ctx, config)
			return retryable(err), err
		}); err != nil {
			return fmt.Errorf("could not create the stream %s: %w", config.Name, err)
		}
	}
	return nil
}

// bucket makes a stream one of values. What is read comes from its leader: other servers of a
// cluster may be behind, and would not know of a run that was just begun.
func bucket(config jetstream.StreamConfig) jetstream.StreamConfig {
	config.MaxMsgsPerSubject, config.Discard, config.DenyDelete = 1, jetstream.DiscardNew, true
	config.AllowDirect = false
	return config
}

// Fleet names the fleet and tenant whose streams these are. No other has the same name, and it stays
// for as long as the streams do.
func (c *Conn) Fleet(ctx context.Context) (name string, err error) {
	err = Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := c.JS.Stream(ctx, Tasks)
		if err == nil {
			name = strconv.FormatInt(s.CachedInfo().Created.UnixNano(), 36)
		}
		return retryable(err) || errors.Is(err, jetstream.ErrStreamNotFound), err
	})
	if err != nil {
		return "", fmt.Errorf("could not identify the fleet: %w", err)
	}
	return name, nil
}

// retryable reports whether an error may pass: a cluster without a leader, a server that
// starts.
func retryable(err error) bool {
	var api *jetstream.APIError
	var other *layoutError
	return err != nil && !errors.As(err, &other) && (!errors.As(err, &api) || api.Code == 503)
}

// setupTime is how long a worker waits for a server that has just started to make its streams.
const setupTime = time.Minute

// Consumer returns the consumer of the tasks that a subject filter names, which is made when it
// is first asked for. A task that nobody confirms for as long as lease is given to another
// worker.
func (c *Conn) Consumer(ctx context.Context, name, filter string, lease time.Duration) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	var consumer jetstream.Consumer
	err := Try(ctx, func(ctx context.Context) (again bool, err error) {
		running, err := c.running(ctx)
		if err != nil {
			return retryable(err) || errors.Is(err, jetstream.ErrStreamNotFound), err
		}
		consumer, err = c.JS.CreateOrUpdateConsumer(ctx, Tasks, jetstream.ConsumerConfig{
			Durable: name, FilterSubject: filter, AckPolicy: jetstream.AckExplicitPolicy, AckWait: lease, MaxAckPending: running, MaxDeliver: -1,
		})
		return retryable(err) || errors.Is(err, jetstream.ErrStreamNotFound), err
	})
	if err != nil {
		return nil, fmt.Errorf("take tasks: %w", err)
	}
	return consumer, nil
}

// running is how many tasks of a kind may be in the hands of workers; -1 means any number.
func (c *Conn) running(ctx context.Context) (int, error) {
	s, err := c.JS.Stream(ctx, Tasks)
	if err != nil {
		return 0, err
	}
	if err := checkLayout(s.CachedInfo().Config); err != nil {
		return 0, err
	}
	if n, err := strconv.Atoi(s.CachedInfo().Config.Metadata[runningKey]); err == nil && n > 0 {
		return n, nil
	}
	return -1, nil
}

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

// What workers have to know is noted with the stream of tasks: the limit of running, and how
// everything is laid out.
const (
	runningKey = "haft-running"
	layoutKey  = "haft-layout"
)

func checkLayout(tasks jetstream.StreamConfig) error {
	if found := cmp.Or(tasks.Metadata[layoutKey], "1"); found != Layout {
		return &layoutError{found}
	}
	return nil
}
