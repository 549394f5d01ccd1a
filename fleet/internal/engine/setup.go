package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names of streams and buckets.
const (
	Shards    = 8 // of journals: without a group commit, each stream waits for its own disk writes
	Witnesses = "WITNESSES"
	Prompts   = "PROMPTS"
	Tasks     = "TASKS"
	Runs      = "RUNS"
	Questions = "QUESTIONS"
	Schedules = "SCHEDULES"
	Blobs     = "BLOBS"
)

// Shard is the stream of some journals.
func Shard(n uint32) string { return fmt.Sprintf("J%d", n%Shards) }

// Limits are those of a tenant; zero means none.
type Limits struct {
	// Queued is how many runs may have something to do.
	Queued int
	// Running is how many of them workers may lead at once, for each label and priority.
	Running int
}

// runningKey is where the limit of running is noted for workers.
const runningKey = "haft-running"

// Setup makes the streams, or changes them to what they should be. Replicas is 1 for one
// server and 3 for a cluster.
func (c *Conn) Setup(ctx context.Context, replicas int, limits Limits) error {
	file := func(name string, subjects ...string) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: name, Subjects: subjects, Storage: jetstream.FileStorage, Replicas: replicas, DenyDelete: false}
	}
	configs := []jetstream.StreamConfig{file(Prompts, "p.>", "r.>")}
	for n := range uint32(Shards) {
		configs = append(configs, file(Shard(n), fmt.Sprintf("j.%d.>", n)))
	}
	witnesses := file(Witnesses, "w.>")
	witnesses.MaxMsgsPerSubject = 1
	tasks := file(Tasks, "task.>")
	// One task for each session: it says that there is something to do, not what.
	tasks.Retention, tasks.Discard, tasks.DiscardNewPerSubject, tasks.MaxMsgsPerSubject = jetstream.WorkQueuePolicy, jetstream.DiscardNew, true, 1
	if tasks.MaxMsgs = int64(limits.Queued); limits.Running > 0 {
		tasks.Metadata = map[string]string{runningKey: strconv.Itoa(limits.Running)}
	}
	schedules := file(Schedules, "sched.>", "fire.>")
	schedules.AllowMsgSchedules, schedules.MaxMsgsPerSubject = true, 1
	for _, name := range []string{Runs, Questions} {
		configs = append(configs, bucket(file("KV_"+name, "$KV."+name+".>")))
	}
	for _, config := range append(configs, witnesses, tasks, schedules) {
		if err := Try(ctx, func(ctx context.Context) (bool, error) {
			_, err := c.JS.CreateOrUpdateStream(ctx, config)
			return retryable(err), err
		}); err != nil {
			return fmt.Errorf("make the stream %s: %w", config.Name, err)
		}
	}
	if err := Try(ctx, func(ctx context.Context) (bool, error) {
		_, err := c.JS.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: Blobs, Storage: jetstream.FileStorage, Replicas: replicas})
		return retryable(err), err
	}); err != nil {
		return fmt.Errorf("make the store of contents: %w", err)
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

// retryable reports whether an error may pass: a cluster without a leader, a server that
// starts.
func retryable(err error) bool {
	var api *jetstream.APIError
	return err != nil && (!errors.As(err, &api) || api.Code == 503)
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
	if n, err := strconv.Atoi(s.CachedInfo().Config.Metadata[runningKey]); err == nil && n > 0 {
		return n, nil
	}
	return -1, nil
}
