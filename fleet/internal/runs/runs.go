package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/session"
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
	prompts

	// unlimited is until when any number of runs may wait, in nanoseconds.
	unlimited atomic.Int64
}

// New returns the runs of a tenant, changed by the user of the connection.
func New(conn *engine.Conn, tenant string) *Runs {
	return &Runs{prompts: prompts{questions{store{conn: conn, tenant: tenant, user: conn.User}}}}
}

// ErrNotFound is the error for a run that does not exist.
var ErrNotFound = errors.New("no such run")

// ErrUnchanged ends a [Runs.Update] that is not needed.
var ErrUnchanged = errors.New("unchanged")

// How often a server whose disk is full is asked again, and after how long.
const (
	roomTries = 20
	roomPause = 500 * time.Millisecond
)

// listTime is how long a list may take.
const listTime = 30 * time.Second

// Begin makes a run without a prompt. One that is there already stays as it is.
func (r *Runs) Begin(ctx context.Context, s *Submission) (*Run, error) {
	if !engine.Word(s.ID) {
		return nil, fmt.Errorf("cannot start a run: %q is not a valid run id", s.ID)
	}
	if s.Workspace != nil {
		if err := s.Workspace.check(); err != nil {
			return nil, fmt.Errorf("cannot start a run: %w", err)
		}
	}
	if err := r.checkRoom(ctx); err != nil {
		return nil, fmt.Errorf("could not start a run: %w", err)
	}
	run := s.run(s.ID, "")
	run.State = Idle
	run, err := r.create(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("could not start a run: %w", err)
	}
	return run, nil
}

// Reopen makes a run that rests one that waits for a worker: it is about to get a prompt. One
// that was cancelled takes prompts again. Undo is for a prompt that could not be kept: it makes
// the run what it was, unless it has changed since, and returns what it is.
func (r *Runs) Reopen(ctx context.Context, id string) (run *Run, undo func(context.Context) (*Run, error), err error) {
	var was Run
	run, err = r.Update(ctx, id, func(run *Run) error {
		was = *run
		switch run.State {
		case Cancelled:
			run.Attempts, run.Taken, run.Postponed = 0, 0, 0
		case Idle, Failed:
		default:
			return ErrUnchanged
		}
		run.State, run.Reason = Queued, ""
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	reopened := run.revision
	return run, func(ctx context.Context) (*Run, error) {
		return r.Update(ctx, id, func(run *Run) error {
			if run.revision != reopened || reopened == was.revision {
				return ErrUnchanged
			}
			run.State, run.Reason, run.Attempts, run.Taken, run.Postponed = was.State, was.Reason, was.Attempts, was.Taken, was.Postponed
			return nil
		})
	}, nil
}

// Delete removes a run and its prompts. Its journal is another's to remove.
func (r *Runs) Delete(ctx context.Context, id string) error {
	if err := r.note(ctx, "", "delete", id, ""); err != nil {
		return fmt.Errorf("could not delete run %s: %w", id, err)
	}
	if err := r.Cancel(ctx, id); err != nil {
		return err
	}
	if err := r.Withdraw(ctx, id); err != nil {
		return err
	}
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		kv, err := r.bucket(ctx, id)
		if err == nil {
			err = kv.Delete(ctx, r.key(id))
		}
		return true, err
	})
	if err == nil {
		err = r.DropPrompts(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("could not delete run %s: %w", id, err)
	}
	return nil
}

// DropPrompts removes the prompts of a run that takes no more, and their outcomes.
func (r *Runs) DropPrompts(ctx context.Context, id string) error {
	for _, kind := range []string{"p", "r"} {
		err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
			s, err := r.conn.Stream(ctx, engine.Sessions(engine.ShardOf(id)))
			if err == nil {
				err = s.Purge(ctx, jetstream.WithPurgeSubject(r.subject(kind, id, "*")))
			}
			return true, err
		})
		if err != nil {
			return fmt.Errorf("could not remove the prompts of run %s: %w", id, err)
		}
	}
	return nil
}

// Watch calls each with every run as it is, and again when it changes; a run that was
// deleted is nil. It returns when ctx ends or the engine ends it. Ready is called when all
// are known.
func (r *Runs) Watch(ctx context.Context, ready func(), each func(id string, run *Run)) error {
	return r.watchAll(ctx, ready, func(v jetstream.KeyValueEntry, id string) {
		if v.Operation() != jetstream.KeyValuePut {
			each(id, nil)
		} else if run, err := r.decode(v); err == nil {
			each(id, run)
		}
	})
}

// watchAll is [Runs.Watch] for what is stored of runs.
func (r *Runs) watchAll(ctx context.Context, ready func(), each func(v jetstream.KeyValueEntry, id string)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var known sync.WaitGroup
	ended := make(chan error, engine.Shards)
	for n := range uint32(engine.Shards) {
		known.Add(1)
		go func() {
			done := sync.OnceFunc(known.Done)
			defer done() // after what it has ended with: nothing waits for it
			ended <- r.watch(ctx, engine.Runs(n), done, each)
		}()
	}
	all := make(chan struct{})
	go func() {
		known.Wait()
		close(all)
	}()
	for {
		select {
		case <-all:
			all = nil
			select {
			case err := <-ended:
				return err // all that are left are known
			default:
				ready()
			}
		case err := <-ended:
			return err
		}
	}
}

// As returns the runs as a user who may change them: what they do is noted under this name.
func (r *Runs) As(user string) *Runs {
	return &Runs{prompts: prompts{questions{store{conn: r.conn, tenant: r.tenant, user: user}}}}
}

// note writes down what is about to be done. Name tells a deed that is tried again from another one; "" is always a new
// one. A server of the previous version keeps nothing of it.
func (r *Runs) note(ctx context.Context, name, what, run, detail string) error {
	raw, err := json.Marshal(Deed{At: time.Now().UTC(), What: what, Run: run, By: r.user, Key: r.conn.Key, Detail: detail})
	if err != nil {
		return err
	}
	options := []jetstream.PublishOpt{jetstream.WithRetryAttempts(0)}
	if name != "" {
		options = append(options, jetstream.WithMsgID(what+" "+name))
	}
	err = engine.Try(ctx, func(ctx context.Context) (bool, error) {
		_, err := r.conn.JS.Publish(ctx, "audit."+r.tenant+"."+what, raw, options...)
		if errors.Is(err, jetstream.ErrNoStreamResponse) && r.unaudited(ctx) {
			return false, nil
		}
		return !engine.NoRoom(err), err
	})
	if err != nil {
		return fmt.Errorf("note who did it: %w", err)
	}
	return nil
}

// Note writes down something that is about to be done to a run besides what [Runs] do themselves.
func (r *Runs) Note(ctx context.Context, what, run, detail string) error {
	return r.note(ctx, "", what, run, detail)
}

// unaudited reports whether the server is there and keeps nothing of what users do.
func (r *Runs) unaudited(ctx context.Context) bool {
	_, err := r.conn.JS.Stream(ctx, engine.Audit)
	return errors.Is(err, jetstream.ErrStreamNotFound)
}

// Audit calls each with what users did since a time, the oldest first, until it returns false.
func (r *Runs) Audit(ctx context.Context, since time.Time, each func(*Deed) bool) error {
	s, err := r.conn.Stream(ctx, engine.Audit)
	if err != nil {
		return fmt.Errorf("read who did what: %w", err)
	}
	info, err := s.Info(ctx)
	if err != nil {
		return fmt.Errorf("read who did what: %w", err)
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"audit." + r.tenant + ".>"}, DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since})
	if err != nil {
		return fmt.Errorf("read who did what: %w", err)
	}
	for {
		batch, err := c.FetchNoWait(256)
		if err != nil {
			return fmt.Errorf("read who did what: %w", err)
		}
		got := false
		for m := range batch.Messages() {
			got = true
			meta, err := m.Metadata()
			if err != nil {
				return fmt.Errorf("read who did what: %w", err)
			}
			d := new(Deed)
			if err := json.Unmarshal(m.Data(), d); err != nil {
				return fmt.Errorf("read who did what: entry %d: %w", meta.Sequence.Stream, err)
			}
			if d.At = meta.Timestamp; !each(d) || meta.Sequence.Stream >= info.State.LastSeq {
				return nil
			}
		}
		if err := batch.Error(); err != nil {
			return fmt.Errorf("read who did what: %w", err)
		}
		if !got {
			return nil
		}
	}
}

// Cancel ends a run: its turn is stopped, and what waits is not run.
func (r *Runs) Cancel(ctx context.Context, id string) error {
	if err := r.note(ctx, "", "cancel", id, ""); err != nil {
		return fmt.Errorf("could not cancel run %s: %w", id, err)
	}
	if _, err := r.Update(ctx, id, func(run *Run) error {
		if run.State == Archived {
			return fmt.Errorf("cannot cancel run %s: it is archived", id)
		}
		run.State, run.Owner, run.Reason = Cancelled, "", "cancelled"
		return nil
	}); err != nil {
		return err
	}
	pending, err := r.Pending(ctx, id)
	for _, p := range pending {
		err = errors.Join(err, r.Settle(ctx, id, p.UUID, &Outcome{IsError: true, Reason: "cancelled", Text: "The run was cancelled."}))
	}
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	return errors.Join(err, r.conn.NATS.Publish(r.Control(id), []byte("cancel")), r.conn.NATS.FlushWithContext(ctx))
}

// Retry lets workers take a run again that was put aside, failed or was cancelled.
func (r *Runs) Retry(ctx context.Context, id string) error {
	if err := r.note(ctx, "", "retry", id, ""); err != nil {
		return fmt.Errorf("could not retry run %s: %w", id, err)
	}
	run, err := r.Update(ctx, id, func(run *Run) error {
		switch run.State {
		case Quarantined, Failed, Cancelled:
		default:
			return fmt.Errorf("cannot retry run %s: it is %s", id, run.State)
		}
		run.State, run.Reason, run.Attempts, run.Taken, run.Postponed = Queued, "", 0, 0, 0
		return nil
	})
	if err != nil {
		return err
	}
	return r.Wake(ctx, run)
}

// Rest notes that a run has nothing to do, which its worker should have done. It does nothing
// if the run has changed since it was read.
func (r *Runs) Rest(ctx context.Context, run *Run) error {
	_, err := r.Update(ctx, run.ID, func(now *Run) error {
		// One that is queued may be about to get its prompt.
		waits := now.State == Queued && time.Since(now.Updated) > promptTime
		if now.revision != run.revision || !leads(now.State) && !waits {
			return ErrUnchanged
		}
		now.State, now.Owner, now.Attempts, now.Taken = Idle, "", 0, 0
		return nil
	})
	return err
}

// waiting tells which runs have prompts without outcomes.
func (r *Runs) waiting(ctx context.Context) (map[string]bool, error) {
	attempt, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	ids := map[string]bool{}
	for n := range uint32(engine.Shards) {
		if err := r.waitingIn(attempt, n, ids); err != nil {
			return nil, fmt.Errorf("list prompts: %w", err)
		}
	}
	return ids, nil
}

// waitingIn adds those of a shard.
func (r *Runs) waitingIn(ctx context.Context, shard uint32, ids map[string]bool) error {
	s, err := r.conn.Stream(ctx, engine.Sessions(shard))
	if err != nil {
		return err
	}
	done, err := s.Info(ctx, jetstream.WithSubjectFilter(shardSubject("r", shard, r.tenant, "*", "*")))
	if err != nil {
		return err
	}
	sent, err := s.Info(ctx, jetstream.WithSubjectFilter(shardSubject("p", shard, r.tenant, "*", "*")))
	if err != nil {
		return err
	}
	for subject := range sent.State.Subjects {
		if _, ok := done.State.Subjects["r"+subject[1:]]; !ok {
			ids[strings.Split(subject, ".")[3]] = true
		}
	}
	return nil
}

// Drop cancels one prompt: it is not run if it waits, and its turn is stopped if it runs. Other
// prompts of the run are left alone.
//
// That the prompt is unwanted is noted with the run first, where each worker that takes it sees
// it. So nobody begins with the prompt after it got its outcome here.
func (r *Runs) Drop(ctx context.Context, id, prompt string) error {
	run, err := r.Update(ctx, id, func(run *Run) error {
		if !run.Open() || slices.Contains(run.Unwanted, prompt) {
			return ErrUnchanged
		}
		run.Unwanted = append(run.Unwanted, prompt)
		return nil
	})
	if err != nil {
		return fmt.Errorf("could not cancel the prompt: %w", err)
	}
	if run.Owner != "" {
		return r.askLeader(ctx, id, prompt)
	}
	if err := r.Settle(ctx, id, prompt, DroppedOutcome()); err != nil {
		return fmt.Errorf("could not cancel the prompt: %w", err)
	}
	left, err := r.Pending(ctx, id)
	if err != nil || len(left) > 0 {
		return err
	}
	_, err = r.Update(ctx, id, func(now *Run) error {
		if now.revision != run.revision || now.State != Queued {
			return ErrUnchanged // it has something to do, or someone knows better
		}
		now.State, now.Unwanted = Idle, nil
		return nil
	})
	return err
}

func (r *Runs) askLeader(ctx context.Context, id, prompt string) error {
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	m, err := r.conn.NATS.RequestWithContext(ctx, r.Drops(id), []byte(prompt))
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return ErrNoLeader
	case err != nil:
		return fmt.Errorf("could not cancel the prompt: %w", err)
	case string(m.Data) != Dropped:
		return fmt.Errorf("could not cancel the prompt: %s", m.Data)
	}
	return nil
}

// sweep looks at some runs. Waits tells whether one has prompts without outcomes.
func (r *Runs) sweep(ctx context.Context, list []*Run, waits func(id string) (bool, error)) (made int, err error) {
	tasks, err := r.tasks(ctx)
	if err != nil {
		return 0, err
	}
	absent := map[string]bool{}
	for _, run := range list {
		if tasks[run.task()] > 0 || !run.Open() {
			if run.State == Queued {
				if err := r.noteWait(ctx, run, absent); err != nil {
					return made, err
				}
			}
			continue
		}
		has, err := waits(run.ID)
		if err == nil && !has {
			err = r.Rest(ctx, run)
		} else if err == nil {
			err = r.Wake(ctx, run)
			made++
		}
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// pages is the subject of queries. Workers may not use it.
func (r *Runs) pages() string { return "ops." + r.tenant + ".page" }

// Page returns some runs, the one that changed last first, and where the next page begins; "" if this is the last one.
func (r *Runs) Page(ctx context.Context, q *Query) (list []*Run, next string, err error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return nil, "", err
	}
	var p page
	asking, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	err = engine.Try(asking, func(attempt context.Context) (again bool, err error) {
		m, err := r.conn.NATS.RequestWithContext(attempt, r.pages(), raw)
		if err != nil {
			return true, err // the server is away, or starts
		}
		p = page{}
		if err = json.Unmarshal(m.Data, &p); err == nil && p.Error != "" {
			err = errors.New(p.Error)
		}
		return p.Wait, err
	})
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
	for _, id := range p.IDs {
		run, err := r.Get(ctx, id)
		if errors.Is(err, ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, "", err
		}
		list = append(list, run)
	}
	return list, p.Next, nil
}

// workers is the subject at which all workers say how they are.
func (r *Runs) workers() string { return r.Live("workers") }

// Present lets others find out that a worker takes the runs of some classes, and how it is, until stop is called. The
// tools of NATS show it as a service.
func (r *Runs) Present(classes []string, status func() *WorkerStatus) (stop func(), err error) {
	s, err := micro.AddService(r.conn.NATS, micro.Config{Name: "haft-worker", Version: "1.0.0", Metadata: map[string]string{"tenant": r.tenant, "worker": status().Worker}, QueueGroupDisabled: true})
	if err != nil {
		return nil, err
	}
	err = s.AddEndpoint("status", micro.HandlerFunc(func(q micro.Request) { _ = q.RespondJSON(status()) }), micro.WithEndpointSubject(r.workers())) // who has gone hears nothing
	for _, class := range classes {
		err = errors.Join(err, s.AddEndpoint("class-"+class, micro.HandlerFunc(func(q micro.Request) { _ = q.Respond([]byte(status().Worker)) }), micro.WithEndpointSubject(r.presence(class))))
	}
	stop = func() { _ = s.Stop() } // the connection may be gone
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// Workers returns how those workers are that answer at once.
func (r *Runs) Workers(ctx context.Context) (list []*WorkerStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	inbox := r.conn.NATS.NewInbox()
	sub, err := r.conn.NATS.SubscribeSync(inbox)
	if err == nil {
		defer sub.Unsubscribe()
		err = r.conn.NATS.PublishRequest(r.workers(), inbox, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("list workers: %w", err)
		}
		s := new(WorkerStatus)
		if json.Unmarshal(m.Data, s) == nil && s.Worker != "" {
			list = append(list, s)
		}
	}
}

// noWorker reports whether it is certain that no worker takes the runs of a class.
func (r *Runs) noWorker(ctx context.Context, class string) bool {
	ctx, cancel := context.WithTimeout(ctx, presenceTime)
	defer cancel()
	_, err := r.conn.NATS.RequestWithContext(ctx, r.presence(class), nil)
	return errors.Is(err, nats.ErrNoResponders)
}

// noteWait says why a queued run waits, or that it does no longer. Absent are the classes without
// workers, as far as they are known.
func (r *Runs) noteWait(ctx context.Context, run *Run, absent map[string]bool) error {
	if time.Since(run.Updated) < presenceTime && run.Reason == "" {
		return nil
	}
	gone, known := absent[run.Class]
	if !known {
		gone = r.noWorker(ctx, run.Class)
		absent[run.Class] = gone
	}
	reason := ""
	if gone {
		reason = run.waitReason()
	}
	if reason == run.Reason || !gone && !strings.HasPrefix(run.Reason, waits) {
		return nil
	}
	_, err := r.Update(ctx, run.ID, func(now *Run) error {
		if now.revision != run.revision {
			return ErrUnchanged
		}
		now.Reason = reason
		return nil
	})
	return err
}

// Answer answers a question. The first answer counts; the error for others is an
// [AnsweredError] that has it.
func (r *Runs) Answer(ctx context.Context, id string, a Answer) error {
	a.At = time.Now().UTC()
	run, _, _ := strings.Cut(id, ".")
	verb := "deny "
	if a.Allow {
		verb = "allow "
	}
	by := r.As(cmp.Or(r.user, a.By))
	if err := by.note(ctx, id+" "+a.By+" "+a.At.String(), "answer", run, verb+id); err != nil {
		return fmt.Errorf("answer %s: %w", id, err)
	}
	for {
		q, err := r.getQuestion(ctx, id)
		if err != nil {
			return fmt.Errorf("answer %s: %w", id, err)
		}
		if q.Answer != nil {
			if q.Answer.At.Equal(a.At) && q.Answer.By == a.By {
				return nil // it was taken, and only the reply was lost
			}
			return &AnsweredError{*q.Answer}
		}
		q.Answer = &a
		raw, err := json.Marshal(q)
		if err != nil {
			return fmt.Errorf("answer %s: %w", id, err)
		}
		err = r.question(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
			_, err := kv.Update(ctx, r.key(id), raw, q.revision)
			return err
		})
		if err == nil {
			return nil
		}
		if code(err) != jetstream.JSErrCodeStreamWrongLastSequence {
			return fmt.Errorf("answer %s: %w", id, err)
		}
	}
}

// Repair makes the list of runs again where it is damaged: a run of which only prompts or a journal are left gets its
// place back. What a run was submitted with is kept with its prompts. If that is lost, too, the run is quarantined in the
// folder that its journal names (see folder), without its flags, so that nothing runs with other rights than before. A
// run that was deleted stays so. Repairing again changes nothing.
func (r *Runs) Repair(ctx context.Context, folder func(ctx context.Context, id string) (string, error)) (*Repaired, error) {
	done := &Repaired{}
	for n := range uint32(engine.Shards) {
		found, err := r.mentioned(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("repair: %w", err)
		}
		for _, id := range slices.Sorted(maps.Keys(found)) {
			if err := r.repair(ctx, id, found[id], folder, done); err != nil {
				return nil, fmt.Errorf("repair run %s: %w", id, err)
			}
		}
	}
	waiting, err := r.waiting(ctx)
	if err == nil {
		active := slices.DeleteFunc(done.open, func(run *Run) bool { return !waiting[run.ID] && run.State != Queued && !leads(run.State) })
		done.Tasks, err = r.sweep(ctx, active, func(id string) (bool, error) { return waiting[id], nil })
	}
	if err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	return done, nil
}

// mentioned are the runs of a shard of which there are prompts or journals, with the subjects of the prompts.
func (r *Runs) mentioned(ctx context.Context, shard uint32) (map[string][]string, error) {
	found := map[string][]string{}
	for _, part := range [][2]string{{engine.Sessions(shard), shardSubject("p", shard, r.tenant, "*", "*")}, {engine.Journals(shard), shardSubject("j", shard, r.tenant, "*", "*")}} {
		s, err := r.conn.Stream(ctx, part[0])
		if err != nil {
			return nil, err
		}
		listing, cancel := context.WithTimeout(ctx, listTime)
		info, err := s.Info(listing, jetstream.WithSubjectFilter(part[1]))
		cancel()
		if err != nil {
			return nil, err
		}
		for subject := range info.State.Subjects {
			id := strings.Split(subject, ".")[3]
			prompts := found[id]
			if strings.HasPrefix(subject, "p.") {
				prompts = append(prompts, subject)
			}
			found[id] = prompts // also of a run of which only a journal is left
		}
	}
	return found, nil
}

// repair makes a run again that is not there.
func (r *Runs) repair(ctx context.Context, id string, prompts []string, folder func(context.Context, string) (string, error), done *Repaired) error {
	switch run, err := r.Get(ctx, id); {
	case err == nil:
		done.Runs++
		if len(prompts) > 0 && run.Open() {
			done.open = append(done.open, run)
		}
		return nil
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if deleted, err := r.deleted(ctx, id); err != nil || deleted {
		return err
	}
	run, err := r.keptWith(ctx, id, prompts)
	if err != nil {
		return err
	}
	pending, err := r.Pending(ctx, id)
	if err != nil {
		return err
	}
	list := &done.Made
	if run != nil {
		run.State, run.Owner, run.Reason, run.Attempts, run.Taken = Idle, "", "", 0, 0
		if len(pending) > 0 {
			run.State = Queued
		}
	} else {
		dir, err := folder(ctx, id)
		if err != nil {
			return err
		}
		list = &done.Aside
		run = &Run{Class: AnyWorker, State: Quarantined, Dir: dir, Created: time.Now().UTC(), Reason: "its record was lost, and with it the flags that it was submitted with. 'haft-fleet runs retry' continues it without flags"}
	}
	run.ID, run.revision = id, 0
	if run, err = r.create(ctx, run); err != nil {
		return err
	}
	done.open = append(done.open, run)
	*list = append(*list, id)
	done.Runs++
	return nil
}

// deleted reports whether a run was deleted by a user: that leaves a mark.
func (r *Runs) deleted(ctx context.Context, id string) (bool, error) {
	bucket := engine.Runs(engine.ShardOf(id))
	s, err := r.conn.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return false, err
	}
	_, err = s.GetLastMsgForSubject(ctx, "$KV."+bucket+"."+r.key(id))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}

// keptWith returns the run that was kept with the last of some prompts; nil if none was.
func (r *Runs) keptWith(ctx context.Context, id string, prompts []string) (run *Run, err error) {
	s, err := r.conn.Stream(ctx, engine.Sessions(engine.ShardOf(id)))
	if err != nil {
		return nil, err
	}
	last := uint64(0)
	for _, subject := range prompts {
		m, err := s.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return nil, err
		}
		var p Prompt
		if json.Unmarshal(m.Data, &p) == nil && p.Run != nil && m.Sequence > last {
			run, last = p.Run, m.Sequence
		}
	}
	return run, nil
}

// SetSchedule keeps a schedule, in place of one with the same name.
func (r *Runs) SetSchedule(ctx context.Context, s *Schedule) error {
	if !engine.Word(s.Name) {
		return fmt.Errorf("%q is not a valid schedule name: use letters, digits, - and _", s.Name)
	}
	if s.Submission.ID != "" || s.Submission.Prompt.UUID != "" {
		return errors.New("a schedule always starts new runs: leave out the run and the prompt's UUID")
	}
	if w := s.Submission.Workspace; w != nil {
		if err := w.check(); err != nil {
			return fmt.Errorf("cannot save the schedule: %w", err)
		}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("could not save the schedule: %w", err)
	}
	m := nats.NewMsg(r.scheduleSubject("sched", s.Name))
	m.Data = raw
	pattern := s.Cron
	if !strings.HasPrefix(pattern, "@") {
		if len(strings.Fields(pattern)) != 5 {
			return fmt.Errorf("the cron expression %q has %d fields instead of 5: minute, hour, day of the month, month, day of the week", pattern, len(strings.Fields(pattern)))
		}
		pattern = "0 " + pattern // the engine's have seconds
	}
	m.Header.Set(headSchedule, pattern)
	m.Header.Set(headTarget, r.scheduleSubject("fire", s.Name))
	if s.Zone != "" {
		m.Header.Set(headZone, s.Zone)
	}
	if err := r.note(ctx, "", "schedule", "", s.Name+" "+s.Cron); err != nil {
		return fmt.Errorf("could not save the schedule: %w", err)
	}
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	if _, err := r.conn.JS.PublishMsg(ctx, m); err != nil {
		return fmt.Errorf("could not save the schedule %q with the time zone %q: %w", s.Cron, s.Zone, err)
	}
	return nil
}

// Schedules returns those of the tenant.
func (r *Runs) Schedules(ctx context.Context) ([]*Schedule, error) {
	s, err := r.conn.Stream(ctx, engine.Schedules)
	if err != nil {
		return nil, fmt.Errorf("could not list the schedules: %w", err)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(r.scheduleSubject("sched", "*")))
	if err != nil {
		return nil, fmt.Errorf("could not list the schedules: %w", err)
	}
	var list []*Schedule
	for subject := range info.State.Subjects {
		m, err := s.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // removed in the meantime
		}
		schedule := new(Schedule)
		if err == nil {
			err = json.Unmarshal(m.Data, schedule)
		}
		if err != nil {
			return nil, fmt.Errorf("could not list the schedules: %w", err)
		}
		list = append(list, schedule)
	}
	return list, nil
}

// RemoveSchedule ends a schedule. Runs that it has begun are not touched.
func (r *Runs) RemoveSchedule(ctx context.Context, name string) error {
	list, err := r.Schedules(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Name != name {
			continue
		}
		stream, err := r.conn.Stream(ctx, engine.Schedules)
		if err == nil {
			err = r.note(ctx, "", "unschedule", "", name)
		}
		if err == nil {
			err = stream.Purge(ctx, jetstream.WithPurgeSubject(r.scheduleSubject("sched", name)))
		}
		if err != nil {
			return fmt.Errorf("could not remove the schedule %s: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("there is no schedule %s. 'haft-fleet schedules ls' lists them", name)
}

// KeepSchedules submits what is due until ctx ends. Several servers may do so at once: a run
// that was due has one name, so it is begun once.
func (r *Runs) KeepSchedules(ctx context.Context, failed func(error)) {
	for {
		if err := r.keepSchedules(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		if engine.Pause(ctx, time.Second) != nil {
			return
		}
	}
}

func (r *Runs) keepSchedules(ctx context.Context) error {
	attempt, cancel := engine.Attempt(ctx)
	defer cancel()
	due, err := r.conn.JS.CreateOrUpdateConsumer(attempt, engine.Schedules, jetstream.ConsumerConfig{
		Durable: "due-" + r.tenant, FilterSubject: r.scheduleSubject("fire", "*"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: 30 * time.Second,
	})
	if err != nil {
		return fmt.Errorf("look for due schedules: %w", err)
	}
	for ctx.Err() == nil {
		batch, err := due.Fetch(16, jetstream.FetchMaxWait(2*time.Second))
		if err != nil {
			return fmt.Errorf("look for due schedules: %w", err)
		}
		for m := range batch.Messages() {
			if err := r.submitDue(ctx, m); err != nil {
				return err // it comes again
			}
		}
		if err := batch.Error(); err != nil {
			return fmt.Errorf("look for due schedules: %w", err)
		}
	}
	return nil
}

// submitDue begins the run of a schedule whose time has come.
func (r *Runs) submitDue(ctx context.Context, m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("submit due schedules: %w", err)
	}
	var s Schedule
	if err := json.Unmarshal(m.Data(), &s); err != nil {
		return errors.Join(fmt.Errorf("submit due schedules: %w", err), m.Term())
	}
	name := fmt.Sprintf("%s %s %d", r.tenant, s.Name, meta.Sequence.Stream)
	s.Submission.ID, s.Submission.Prompt.UUID = uuidOf("run "+name), uuidOf("prompt "+name)
	if s.Submission.Tags == nil {
		s.Submission.Tags = map[string]string{}
	}
	s.Submission.Tags["schedule"] = s.Name
	if _, _, err := r.As("schedule "+s.Name).Submit(ctx, &s.Submission); err != nil {
		return fmt.Errorf("submit the schedule %s: %w", s.Name, err)
	}
	return m.Ack()
}

// Serve does what workers ask for until ctx ends. Several servers may do so at once. Done hears of each request; nil
// means nobody does.
func (r *Runs) Serve(ctx context.Context, done func(what string, took time.Duration, err error)) error {
	queue := make(chan *nats.Msg, 1024)
	sub, err := r.conn.NATS.ChanQueueSubscribe(engine.Service(r.tenant, "*", "*"), "serve", queue)
	if err != nil {
		return fmt.Errorf("serve workers: %w", err)
	}
	defer sub.Unsubscribe()
	busy := make(chan struct{}, maxServed)
	for {
		select {
		case m := <-queue:
			busy <- struct{}{}
			go func() {
				defer func() { <-busy }()
				began := time.Now()
				if what, err := r.answer(ctx, m); done != nil {
					done(what, time.Since(began), err)
				}
			}()
		case <-ctx.Done():
			return nil
		}
	}
}

// answer does what one request asks for. The answer goes to nothing but an inbox: the server may publish what a worker
// may not.
func (r *Runs) answer(ctx context.Context, m *nats.Msg) (what string, err error) {
	parts := strings.Split(m.Subject, ".")
	key, what := parts[len(parts)-2], parts[len(parts)-1]
	if !slices.Contains([]string{askPut, askSettle, askAsk, askWithdraw, askWake, askQueue}, what) {
		what = "unknown" // a worker chooses it, and it is shown
	}
	if !strings.HasPrefix(m.Reply, "_INBOX.") {
		return what, refuse("there is nowhere to answer")
	}
	var q request
	var a reply
	err = json.Unmarshal(m.Data, &q)
	if err == nil {
		attempt, cancel := engine.Attempt(ctx)
		defer cancel()
		a.Revision, err = r.do(attempt, key, what, &q)
	}
	if err != nil {
		_, a.Refused = errors.AsType[*RefusedError](err)
		a.Error, a.Code = err.Error(), code(err)
	}
	if raw, err := json.Marshal(a); err == nil {
		_ = m.Respond(raw) // who has gone asks again
	}
	return what, err
}

func (r *Runs) do(ctx context.Context, key, what string, q *request) (revision uint64, err error) {
	switch what {
	case askPut:
		return r.putFor(ctx, key, q)
	case askSettle:
		return 0, r.settleFor(ctx, key, q)
	case askAsk:
		return 0, r.askFor(ctx, key, q)
	case askWithdraw:
		return 0, r.withdrawFor(ctx, key, q)
	case askWake:
		run, err := r.Get(ctx, q.ID)
		if err == nil {
			err = r.Wake(ctx, run)
		}
		return 0, err
	case askQueue:
		return 0, r.queueFor(ctx, q)
	}
	return 0, refuse("it does not know how to %q", what)
}

// putFor changes a run for a worker.
func (r *Runs) putFor(ctx context.Context, key string, q *request) (uint64, error) {
	was, err := r.Get(ctx, q.ID)
	if err != nil {
		return 0, err
	}
	if was.revision != q.Revision {
		return 0, &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence, Description: "the run has changed"}
	}
	now := new(Run)
	if err := json.Unmarshal(q.Value, now); err != nil {
		return 0, refuse("the run cannot be read: %v", err)
	}
	now.ID, now.revision = was.ID, was.revision
	if err := mayChange(was, now, key); err != nil {
		return 0, err
	}
	if was.Owner != "" && !owns(key, was.Owner) && !onlyAside(was, now) && (now.Owner == was.Owner || r.led(ctx, was)) {
		return 0, refuse("%s leads the run", was.Owner)
	}
	_, err = r.put(ctx, now)
	return now.revision, err
}

// shares is the subject of these questions. Workers may not use it.
func (r *Runs) shares() string { return "ops." + r.tenant + ".share" }

// waitsBehind reports whether a new run of this user has to wait behind those of others. A server that does not answer
// has no opinion.
func (r *Runs) waitsBehind(ctx context.Context, id string) bool {
	raw, err := json.Marshal(shareQuery{id, r.user})
	if err != nil || r.user == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, shareTime)
	defer cancel()
	m, err := r.conn.NATS.RequestWithContext(ctx, r.shares(), raw)
	return err == nil && string(m.Data) == "true"
}

// Submit hands a prompt to the fleet. When it returns without an error, the prompt is on the
// disk and will be run; one that was submitted before is not run again. With an error, the
// prompt is "" unless it is on the disk nevertheless.
func (r *Runs) Submit(ctx context.Context, s *Submission) (id, prompt string, err error) {
	id, p := s.ID, s.Prompt
	if id == "" && p.UUID != "" {
		id = uuidOf("run of " + r.tenant + " " + p.UUID) // the same one if the prompt is sent again
	}
	known := id != ""
	id = cmp.Or(id, session.NewUUID())
	p.UUID, p.Sent = cmp.Or(p.UUID, session.NewUUID()), time.Now().UTC()
	if !engine.Word(id) || !engine.Word(p.UUID) || !engine.Word(cmp.Or(s.Class, AnyWorker)) {
		return "", "", errors.New("cannot submit the prompt: ids and labels may contain only letters, digits, - and _")
	}
	if s.Workspace != nil {
		if err := s.Workspace.check(); err != nil {
			return "", "", fmt.Errorf("could not submit the prompt: %w", err)
		}
	}
	if !slices.Contains(engine.Priorities(), cmp.Or(s.Priority, Normal)) {
		return "", "", fmt.Errorf("cannot submit the prompt: %q is not a priority; use one of %s", s.Priority, strings.Join(engine.Priorities(), ", "))
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return "", "", fmt.Errorf("could not submit the prompt: %w", err)
	}
	if int64(len(raw)) > r.conn.NATS.MaxPayload()-headers { // before there is a run that waits for it
		return "", "", fmt.Errorf("could not submit the prompt: %w", ErrTooLarge)
	}
	var run *Run
	if err = ErrNotFound; known {
		run, err = r.Get(ctx, id)
	}
	if errors.Is(err, ErrNotFound) {
		if err := r.checkRoom(ctx); err != nil {
			return "", "", fmt.Errorf("could not submit the prompt: %w", err)
		}
		run = s.run(id, p.Text)
		run.By, run.Behind = r.user, r.waitsBehind(ctx, id)
		run, err = r.create(ctx, run)
	}
	if err != nil {
		return "", "", fmt.Errorf("could not submit the prompt: %w", err)
	}
	if !run.Open() {
		return "", "", fmt.Errorf("cannot submit the prompt: run %s is %s and accepts no more prompts", id, run.State)
	}
	p.Run = run
	if with, err := json.Marshal(p); err == nil && len(with) < len(raw)+maxCopy && int64(len(with)) < r.conn.NATS.MaxPayload()-headers {
		raw = with
	}
	if err := r.note(ctx, id+" "+p.UUID, "submit", id, firstLine(p.Text)); err != nil {
		return "", "", fmt.Errorf("could not submit the prompt: %w", err)
	}
	if err := r.once(ctx, r.subject("p", id, p.UUID), raw); err != nil {
		return "", "", fmt.Errorf("could not submit the prompt: %w", err)
	}
	// Who archives a run looks for prompts once it is archived; so either this one is found, or it is
	// known here that nobody will.
	if known {
		if now, err := r.Get(ctx, id); err == nil && now.State == Archived {
			return "", "", fmt.Errorf("cannot submit the prompt: run %s is %s and accepts no more prompts", id, now.State)
		}
	}
	return id, p.UUID, r.Wake(ctx, run)
}

// checkRoom refuses a new run if as many wait as the tenant may have. That there is no limit is
// believed for a while.
func (r *Runs) checkRoom(ctx context.Context) error {
	if time.Now().UnixNano() < r.unlimited.Load() {
		return nil
	}
	return engine.Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := r.conn.Stream(ctx, engine.Tasks)
		if err != nil {
			return true, err
		}
		info, err := s.Info(ctx)
		if err != nil {
			return true, err
		}
		most := info.Config.MaxMsgs
		if most > 0 && int64(info.State.Msgs) >= most {
			return false, fmt.Errorf("%w: the limit is %d (haft-fleet serve --max-queued). Try again when some have ended", ErrFull, most)
		}
		if most <= 0 {
			r.unlimited.Store(time.Now().Add(limitTime).UnixNano())
		}
		return false, nil
	})
}

// create makes a run, or returns the one that is there.
func (r *Runs) create(ctx context.Context, run *Run) (*Run, error) {
	there := false
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		_, err := r.put(ctx, run)
		if there = code(err) == jetstream.JSErrCodeStreamWrongLastSequence; there {
			return false, nil
		}
		return !engine.NoRoom(err), err
	})
	if errors.Is(err, nats.ErrMaxPayload) {
		err = ErrTooLarge
	}
	if err != nil || !there {
		return run, err
	}
	return r.Get(ctx, run.ID)
}
