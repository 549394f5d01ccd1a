package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// A store has the records of a tenant's runs. Only the server writes them: workers ask it to.
type store struct {
	conn   *engine.Conn
	tenant string
	user   string // who changes them; "" if that is not known
}

// Tenant is whose they are.
func (r *store) Tenant() string { return r.tenant }

// key names a run in its bucket.
func (r *store) key(id string) string { return r.tenant + "." + id }

func (r *store) bucket(ctx context.Context, id string) (jetstream.KeyValue, error) {
	return r.conn.Bucket(ctx, engine.Runs(engine.ShardOf(id)))
}

// Get returns a run.
func (r *store) Get(ctx context.Context, id string) (*Run, error) {
	var run *Run
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		if !engine.Word(id) {
			return false, ErrNotFound
		}
		kv, err := r.bucket(ctx, id)
		if err != nil {
			return true, err
		}
		v, err := kv.Get(ctx, r.key(id))
		if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
			return false, ErrNotFound
		}
		if err != nil {
			return true, err
		}
		run, err = r.decode(v)
		return false, err
	})
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return nil, fmt.Errorf("could not read run %s: %w", id, err)
	}
	return run, nil
}

// decode reads a run. Its key says which it is, whatever a worker has written into it.
func (r *store) decode(v jetstream.KeyValueEntry) (*Run, error) {
	id := strings.TrimPrefix(v.Key(), r.key(""))
	if !engine.Word(id) {
		return nil, fmt.Errorf("%q is not a valid run id", id)
	}
	run := new(Run)
	err := json.Unmarshal(v.Value(), run)
	run.ID, run.revision = id, v.Revision()
	return run, err
}

// Update changes a run. Change is called again with what others have made of it meanwhile. A
// server whose disk is full is waited for, but not for long.
func (r *store) Update(ctx context.Context, id string, change func(*Run) error) (*Run, error) {
	for refused := 0; ; {
		run, err := r.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := change(run); errors.Is(err, ErrUnchanged) {
			return run, nil
		} else if err != nil {
			return run, err
		}
		again, err := r.put(ctx, run)
		if err == nil {
			return run, nil
		}
		if engine.NoRoom(err) {
			refused++
			again = refused < roomTries && engine.Pause(ctx, roomPause) == nil
		}
		if !again || ctx.Err() != nil {
			return nil, fmt.Errorf("could not update run %s: %w", id, err)
		}
	}
}

// put writes a run if nobody has changed it since it was read.
func (r *store) put(ctx context.Context, run *Run) (again bool, err error) {
	run.Updated = time.Now().UTC()
	raw, err := json.Marshal(run)
	if err != nil {
		return false, err
	}
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	if r.asks() {
		a, err := r.request(ctx, askPut, &request{ID: run.ID, Revision: run.revision, Value: raw})
		if err == nil {
			run.revision = a.Revision
		}
		return !isRefused(err) && !errors.Is(err, nats.ErrMaxPayload), engine.Explain(err)
	}
	kv, err := r.bucket(ctx, run.ID)
	if err != nil {
		return true, err
	}
	revision, err := kv.Update(ctx, r.key(run.ID), raw, run.revision)
	if err == nil {
		run.revision = revision
	}
	return !errors.Is(err, nats.ErrMaxPayload), engine.Explain(err)
}

// List returns all runs, the latest first.
func (r *store) List(ctx context.Context) ([]*Run, error) {
	var list []*Run
	for n := range uint32(engine.Shards) {
		err := r.values(ctx, engine.Runs(n), func(v jetstream.KeyValueEntry) {
			if run, err := r.decode(v); err == nil {
				list = append(list, run)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
	}
	sortRuns(list)
	return list, nil
}

// values calls each with the values of the tenant in a bucket, the oldest first.
func (r *store) values(ctx context.Context, bucket string, each func(jetstream.KeyValueEntry)) error {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	kv, err := r.conn.Bucket(ctx, bucket)
	if err != nil {
		return err
	}
	w, err := kv.Watch(ctx, r.tenant+".>", jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case v := <-w.Updates():
			if v == nil {
				return nil
			}
			each(v)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Live is the subject at which a session that is being led can be watched.
func (r *store) Live(id string) string { return "live." + r.tenant + "." + id }

func (r *store) watch(ctx context.Context, bucket string, ready func(), each func(jetstream.KeyValueEntry, string)) error {
	kv, err := r.conn.Bucket(ctx, bucket)
	if err != nil {
		return err
	}
	w, err := kv.Watch(ctx, r.tenant+".>")
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case v, ok := <-w.Updates():
			switch {
			case !ok:
				return errors.New("the NATS server stopped sending changes")
			case v == nil:
				ready()
			default:
				each(v, strings.TrimPrefix(v.Key(), r.tenant+"."))
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Control is the subject on which the leader of a run hears that it was cancelled.
func (r *store) Control(id string) string { return "ctl." + r.tenant + "." + id }

// Drops is the subject on which the leader of a run is asked to cancel one prompt. It is not
// that of [Runs.Control], on which a worker of an older version would end the whole run.
func (r *store) Drops(id string) string { return "ctl." + r.tenant + "." + id + ".drop" }

// tasks are the subjects of all tasks.
func (r *store) tasks(ctx context.Context) (map[string]uint64, error) {
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	s, err := r.conn.Stream(ctx, engine.Tasks)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}

// presence is the subject at which the workers of a class say that they are there.
func (r *store) presence(class string) string { return r.Live("class-" + class) }

func (r *store) scheduleSubject(kind, name string) string { return kind + "." + r.tenant + "." + name }

// asks reports whether the server has to be asked for changes.
func (r *store) asks() bool { return r.conn.Role == engine.Worker }

// request asks the server for something.
func (r *store) request(ctx context.Context, what string, q *request) (*reply, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	m, err := r.conn.NATS.RequestWithContext(ctx, engine.Service(r.tenant, r.conn.Key, what), raw)
	if err != nil {
		return nil, err
	}
	var a reply
	switch err := json.Unmarshal(m.Data, &a); {
	case err != nil:
		return nil, err
	case a.Refused:
		return nil, &RefusedError{a.Error}
	case a.Code != 0:
		return nil, &jetstream.APIError{Code: 400, ErrorCode: a.Code, Description: a.Error}
	case a.Error != "":
		return nil, errors.New(a.Error)
	}
	return &a, nil
}

// Leads is the subject at which the leader of a run says that it is there.
func (r *store) Leads(id string) string { return "ctl." + r.tenant + "." + id + ".leads" }

// queueFor makes the queue of a class and priority, unless it is there.
func (r *store) queueFor(ctx context.Context, q *request) error {
	if !engine.Word(q.Class) || !slices.Contains(engine.Lanes(), q.Priority) || q.Lease < minLease || q.Lease > maxLease {
		return refuse("cannot make a queue for the class %q and the priority %q with a lease of %s", q.Class, q.Priority, q.Lease)
	}
	lease, name := q.Lease, engine.QueueName(q.Class, q.Priority)
	if c, err := r.conn.JS.Consumer(ctx, engine.Tasks, name); err == nil {
		lease = cmp.Or(c.CachedInfo().Config.AckWait, lease) // it is that of all workers
	}
	_, err := r.conn.Consumer(ctx, name, Tasks(q.Class, q.Priority), lease)
	return err
}

// subject is that of a prompt ("p") or an outcome ("r").
func (r *store) subject(kind, id, name string) string {
	return shardSubject(kind, engine.ShardOf(id), r.tenant, id, name)
}

// once publishes what may be there already, and then is. It does not wait for a server whose
// disk is full.
func (r *store) once(ctx context.Context, subject string, raw []byte) error {
	return engine.Try(ctx, func(ctx context.Context) (bool, error) {
		_, err := r.conn.JS.Publish(ctx, subject, raw, jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
		if code(err) == jetstream.JSErrCodeStreamWrongLastSequence {
			return false, nil
		}
		return !engine.NoRoom(err), err
	})
}
