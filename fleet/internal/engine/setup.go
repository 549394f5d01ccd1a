package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names of streams and buckets.
const (
	Tasks     = "TASKS"
	Questions = "QUESTIONS"
	Schedules = "SCHEDULES"
	Blobs     = "BLOBS"
)

// Shards is over how many streams sessions are spread: each stream waits for its own writes to
// the disk, and those of several are written together.
const Shards = 8

// ShardOf is the shard of everything that belongs to a session.
func ShardOf(session string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(session))
	return h.Sum32() % Shards
}

// Journals is the stream of the journals of a shard.
func Journals(shard uint32) string { return fmt.Sprintf("J%d", shard%Shards) }

// Sessions is the stream of what is known about the sessions of a shard beside their journals:
// prompts, outcomes and witnesses.
func Sessions(shard uint32) string { return fmt.Sprintf("S%d", shard%Shards) }

// Runs is the bucket of the runs of a shard.
func Runs(shard uint32) string { return fmt.Sprintf("RUNS%d", shard%Shards) }

// Limits are those of a tenant; zero means none.
type Limits struct {
	// Queued is how many runs may have something to do.
	Queued int
	// Running is how many of them workers may lead at once, for each label and priority.
	Running int
}

// What workers have to know is noted with the stream of tasks: the limit of running, and how
// everything is laid out.
const (
	runningKey = "haft-running"
	layoutKey  = "haft-layout"
)

// Layout is the version of names and formats in the engine. It changes when programs of the
// version before would not find or not understand something; what is only added leaves it.
const Layout = "2"

// A layoutError says that another version keeps things in another way.
type layoutError struct{ found string }

func (e *layoutError) Error() string {
	return fmt.Sprintf("the server stores its runs in layout %s, but this haft-fleet uses layout %s: use the server's version of haft-fleet, or archive the runs with that version and start with an empty store", e.found, Layout)
}

func checkLayout(tasks jetstream.StreamConfig) error {
	if found := cmp.Or(tasks.Metadata[layoutKey], "1"); found != Layout {
		return &layoutError{found}
	}
	return nil
}

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
	values := func(name string) jetstream.StreamConfig { return bucket(file("KV_"+name, "$KV."+name+".>")) }
	configs := []jetstream.StreamConfig{values(Questions)}
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
	if err := c.CheckLayout(ctx); err != nil {
		return fmt.Errorf("cannot use the store: %w", err)
	}
	// The tasks come first: they say how the rest is laid out.
	for _, config := range append([]jetstream.StreamConfig{tasks, schedules}, configs...) {
		if err := Try(ctx, func(ctx context.Context) (bool, error) {
			_, err := c.JS.CreateOrUpdateStream(ctx, config)
			return retryable(err), err
		}); err != nil {
			return fmt.Errorf("could not create the stream %s: %w", config.Name, err)
		}
	}
	if err := Try(ctx, func(ctx context.Context) (bool, error) {
		_, err := c.JS.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: Blobs, Storage: jetstream.FileStorage, Replicas: replicas})
		return retryable(err), err
	}); err != nil {
		return fmt.Errorf("could not create the object store: %w", err)
	}
	return nil
}

// bucket makes a stream one of values. What is read comes from its leader: other servers of a
// cluster may be behind, and would not know of a run that was just begun.
func bucket(config jetstream.StreamConfig) jetstream.StreamConfig {
	config.MaxMsgsPerSubject, config.Discard, config.DenyDelete, config.AllowRollup = 1, jetstream.DiscardNew, true, true
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
