package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A State is how a run is.
type State string

const (
	Queued      State = "queued"
	Running     State = "running"
	Asking      State = "asking" // it waits for an answer to a question
	Idle        State = "idle"   // every prompt has its outcome
	Failed      State = "failed" // the last one is an error
	Cancelled   State = "cancelled"
	Quarantined State = "quarantined" // put aside: damaged, or no worker gets on with it
	Archived    State = "archived"
)

// Given is what a run was submitted with that may change.
type Given struct {
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
	Title string `json:"title,omitempty"`
}

// A Run is a session of the fleet.
type Run struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	Class string `json:"class"` // which workers may take it
	// Priority is one of [engine.Priorities]; "" means [Normal].
	Priority string   `json:"priority,omitempty"`
	Dir      string   `json:"dir"`            // where it works
	Args     []string `json:"args,omitempty"` // flags, as for haft
	// Host is the machine that has the folder Dir; "" until a worker has begun there. No other
	// one continues the run: a folder of the same name has other files.
	Host string `json:"host,omitempty"`
	// Workspace is where the files come from that are not a folder of a machine; nil means Dir.
	Workspace *Workspace `json:"workspace,omitempty"`
	// Aside are folders with changes that are stored nowhere else.
	Aside []Aside `json:"aside,omitempty"`
	// Mode and Model are those that it has now, where they are not what Args say.
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
	// Given are those that it was submitted with; nil in a run of an earlier version.
	Given *Given `json:"given,omitempty"`
	// Title and First are what a list shows before the journal was read: its name, and the
	// beginning of the first prompt.
	Title string            `json:"title,omitempty"`
	First string            `json:"first,omitempty"`
	Tags  map[string]string `json:"tags,omitempty"` // for those who look for it
	// Ask says that users are asked about what the rules leave open; else that is denied.
	Ask   bool   `json:"ask,omitempty"`
	Owner string `json:"owner,omitempty"`
	// By is who submitted it; "" if that is not known. Behind says that it waits behind the runs of others, because By
	// had many.
	By     string `json:"by,omitempty"`
	Behind bool   `json:"behind,omitempty"`
	// Unwanted are prompts that a user has cancelled and that a worker may not have heard of yet.
	Unwanted []string `json:"unwanted,omitempty"`
	// Reason is why it failed or was put aside.
	Reason  string    `json:"reason,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Attempts counts workers that took it since the journal last grew past Tip.
	Attempts int `json:"attempts,omitempty"`
	// Taken counts workers that took it since it last had nothing to do.
	Taken int `json:"taken,omitempty"`
	// Postponed counts how often its folder could not be made for now, since the journal last grew
	// past Tip.
	Postponed int    `json:"postponed,omitempty"`
	Tip       string `json:"tip,omitempty"`
	// Archive is the file that it was sealed into, Digest its SHA-256.
	Archive string `json:"archive,omitempty"`
	Digest  string `json:"digest,omitempty"`

	revision uint64
	unknown  map[string]json.RawMessage // fields of a later version
}

// plainRun is a Run without its own way of being encoded.
type plainRun Run

// UnmarshalJSON implements [json.Unmarshaler]. What a later version has added is kept.
func (r *Run) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, (*plainRun)(r)); err != nil {
		return err
	}
	r.unknown = nil
	if err := json.Unmarshal(raw, &r.unknown); err != nil {
		return err
	}
	for name := range knownFields() {
		delete(r.unknown, name)
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (r *Run) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal((*plainRun)(r))
	if err != nil || len(r.unknown) == 0 {
		return raw, err
	}
	rest, err := json.Marshal(r.unknown)
	if err != nil {
		return nil, err
	}
	return append(append(raw[:len(raw)-1], ','), rest[1:]...), nil
}

// knownFields are the names that a Run has in JSON.
func knownFields() iter.Seq[string] {
	return func(yield func(string) bool) {
		for f := range reflect.TypeFor[Run]().Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !yield(name) {
				return
			}
		}
	}
}

// Open reports whether workers may take it.
func (r *Run) Open() bool {
	return r.State != Cancelled && r.State != Quarantined && r.State != Archived
}

// After reports whether this is a later state of the run than another.
func (r *Run) After(other *Run) bool { return r.revision > other.revision }

// waitReason is why a run waits for workers that are not there.
func (run *Run) waitReason() string {
	host, onHost := strings.CutPrefix(run.Class, OnHost(""))
	switch {
	case run.Host != "":
		return fmt.Sprintf("%s on the host %s, which has the folder %s: none is connected. Start one there: no other host takes the run", waits, run.Host, run.Dir)
	case onHost:
		return fmt.Sprintf("%s on the host %s: none is connected. Start one there, or submit the prompt again with another --host or --label", waits, host)
	case run.Class != AnyWorker:
		return fmt.Sprintf("%s with the label %s: none is connected. Start one with --label %[2]s", waits, run.Class)
	}
	return waits + ": none is connected. Start one with 'haft-fleet worker'"
}

// task is the subject of a run's task.
func (run *Run) task() string {
	lane := cmp.Or(run.Priority, Normal)
	if run.Behind && lane != "low" {
		lane = engine.Later
	}
	return "task." + run.Class + "." + lane + "." + run.ID
}

// Runs are the sessions of a tenant.
type Runs struct {
	conn   *engine.Conn
	tenant string
	user   string // who changes them; "" if that is not known
	// unlimited is until when any number of runs may wait, in nanoseconds.
	unlimited atomic.Int64
}

// New returns the runs of a tenant, changed by the user of the connection.
func New(conn *engine.Conn, tenant string) *Runs {
	return &Runs{conn: conn, tenant: tenant, user: conn.User}
}

// Tenant is whose they are.
func (r *Runs) Tenant() string { return r.tenant }

// ErrNotFound is the error for a run that does not exist.
var ErrNotFound = errors.New("no such run")

// key names a run in its bucket.
func (r *Runs) key(id string) string { return r.tenant + "." + id }

func (r *Runs) bucket(ctx context.Context, id string) (jetstream.KeyValue, error) {
	return r.conn.Bucket(ctx, engine.Runs(engine.ShardOf(id)))
}

// Get returns a run.
func (r *Runs) Get(ctx context.Context, id string) (*Run, error) {
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
func (r *Runs) decode(v jetstream.KeyValueEntry) (*Run, error) {
	id := strings.TrimPrefix(v.Key(), r.key(""))
	if !engine.Word(id) {
		return nil, fmt.Errorf("%q is not a valid run id", id)
	}
	run := new(Run)
	err := json.Unmarshal(v.Value(), run)
	run.ID, run.revision = id, v.Revision()
	return run, err
}

// ErrUnchanged ends a [Runs.Update] that is not needed.
var ErrUnchanged = errors.New("unchanged")

// Update changes a run. Change is called again with what others have made of it meanwhile. A
// server whose disk is full is waited for, but not for long.
func (r *Runs) Update(ctx context.Context, id string, change func(*Run) error) (*Run, error) {
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

// How often a server whose disk is full is asked again, and after how long.
const (
	roomTries = 20
	roomPause = 500 * time.Millisecond
)

// put writes a run if nobody has changed it since it was read.
func (r *Runs) put(ctx context.Context, run *Run) (again bool, err error) {
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

// listTime is how long a list may take.
const listTime = 30 * time.Second

// List returns all runs, the latest first.
func (r *Runs) List(ctx context.Context) ([]*Run, error) {
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
func (r *Runs) values(ctx context.Context, bucket string, each func(jetstream.KeyValueEntry)) error {
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
