package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// What workers ask the server for, because their keys do not let them do it themselves: the server looks whether a
// worker may change that.
const (
	askPut      = "put"      // change a run
	askSettle   = "settle"   // give a prompt its outcome
	askAsk      = "ask"      // put a question
	askWithdraw = "withdraw" // take a question back
	askWake     = "wake"     // make a task for a run
	askQueue    = "queue"    // make the queue of a class
)

// A request is what a worker asks for.
type request struct {
	ID       string          `json:"id,omitempty"` // of a run or question
	Revision uint64          `json:"revision,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"` // a run, outcome or question
	Prompt   string          `json:"prompt,omitempty"`
	Class    string          `json:"class,omitempty"`
	Priority string          `json:"priority,omitempty"`
	Lease    time.Duration   `json:"lease,omitempty"`
}

// A reply is what the server answers.
type reply struct {
	Revision uint64              `json:"revision,omitempty"`
	Error    string              `json:"error,omitempty"`
	Code     jetstream.ErrorCode `json:"code,omitempty"` // of the engine's error
	Refused  bool                `json:"refused,omitempty"`
}

// A RefusedError says that a worker may not do something.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "the server refuses it: " + e.Why }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// asks reports whether the server has to be asked for changes.
func (r *Runs) asks() bool { return r.conn.Role == engine.Worker }

// request asks the server for something.
func (r *Runs) request(ctx context.Context, what string, q *request) (*reply, error) {
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

// maxServed is how many requests are looked at at once.
const maxServed = 64

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

// owns reports whether a worker of some name has a key.
func owns(key, worker string) bool { return strings.HasPrefix(worker, key+"/") }

// Leads is the subject at which the leader of a run says that it is there.
func (r *Runs) Leads(id string) string { return "ctl." + r.tenant + "." + id + ".leads" }

// ledTime is how long a leader may take to say so.
const ledTime = time.Second

// led reports whether the owner of a run is there and leads it.
func (r *Runs) led(ctx context.Context, run *Run) bool {
	ctx, cancel := context.WithTimeout(ctx, ledTime)
	defer cancel()
	m, err := r.conn.NATS.RequestWithContext(ctx, r.Leads(run.ID), nil)
	return err == nil && string(m.Data) == run.Owner
}

// onlyAside reports whether nothing but the list of folders with changes differs: a worker adds its own when another one
// has continued the run.
func onlyAside(was, now *Run) bool {
	a, b := *was, *now
	a.Aside, b.Aside, a.Updated, b.Updated = nil, nil, time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}

// mayChange refuses a change of a run that is not a worker's to make. What was submitted is not: another worker would
// run it.
func mayChange(was, now *Run, key string) error {
	states := []State{Queued, Running, Asking, Idle, Failed, Quarantined}
	switch {
	case now.State != was.State && (!was.Open() || !slices.Contains(states, now.State)):
		return refuse("a run that is %s cannot become %s", was.State, now.State)
	case was.Owner == "" && now.Owner == "" && now.State != was.State && now.State != Quarantined:
		return refuse("no worker leads the run")
	case now.Owner != was.Owner && now.Owner != "" && !owns(key, now.Owner):
		return refuse("%s is not a worker with the key %s", now.Owner, key)
	case now.Host != was.Host && was.Host != "":
		return refuse("the run belongs to the host %s", was.Host)
	case now.Class != was.Class && now.Class != OnHost(now.Host):
		return refuse("a worker cannot offer the run to others")
	case now.Mode != was.Mode && now.Mode == bypass && !was.submittedWith(bypass):
		return refuse("the run was not submitted with the mode %s", bypass)
	}
	a, b := now.submitted(), was.submitted()
	if !reflect.DeepEqual(a, b) {
		return refuse("a worker cannot change what was submitted")
	}
	return nil
}

const bypass = "bypassPermissions"

// submittedWith reports whether a run was submitted with a mode, which its flags or its user may have said.
func (r *Run) submittedWith(mode string) bool {
	return r.Mode == mode || r.Given != nil && r.Given.Mode == mode || slices.ContainsFunc(r.Args, func(arg string) bool { return strings.Contains(arg, mode) })
}

// submitted is a copy of a run without what workers may change.
func (r *Run) submitted() Run {
	c := *r
	c.State, c.Owner, c.Reason, c.Attempts, c.Taken, c.Postponed, c.Tip = "", "", "", 0, 0, 0, ""
	c.Host, c.Class, c.Mode, c.Unwanted, c.Aside, c.Updated, c.revision = "", "", "", nil, nil, time.Time{}, 0
	if c.Workspace != nil {
		w := *c.Workspace
		w.Base, w.BaseBranch, w.Stored, w.Pushed, w.Pushing, w.PushError = "", "", nil, "", nil, ""
		c.Workspace = &w
	}
	return c
}

// settleFor gives a prompt its outcome for the worker that leads its run.
func (r *Runs) settleFor(ctx context.Context, key string, q *request) error {
	if !engine.Word(q.ID) || !engine.Word(q.Prompt) {
		return refuse("%q of %q is not a prompt", q.Prompt, q.ID)
	}
	run, err := r.Get(ctx, q.ID)
	if err != nil {
		return err
	}
	if !owns(key, run.Owner) && run.Open() {
		return refuse("the run is led by %q", run.Owner)
	}
	return r.once(ctx, r.subject("r", q.ID, q.Prompt), q.Value)
}

// askFor puts a question for the worker that leads a run.
func (r *Runs) askFor(ctx context.Context, key string, q *request) error {
	id := new(Question)
	if err := json.Unmarshal(q.Value, id); err != nil || id.Answer != nil {
		return refuse("that is not an open question (%v)", err)
	}
	if err := r.mayAsk(ctx, key, q.ID); err != nil {
		return err
	}
	return r.putQuestion(ctx, q.ID, q.Value)
}

func (r *Runs) withdrawFor(ctx context.Context, key string, q *request) error {
	if err := r.mayAsk(ctx, key, q.ID); err != nil {
		return err
	}
	return r.withdraw(ctx, q.ID)
}

// mayAsk refuses a question of a run that somebody else leads.
func (r *Runs) mayAsk(ctx context.Context, key, question string) error {
	id, call, _ := strings.Cut(question, ".")
	if !engine.Word(id) || !engine.Word(call) {
		return refuse("%q is not the id of a question", question)
	}
	run, err := r.Get(ctx, id)
	if err == nil && (!owns(key, run.Owner) || !run.Ask) {
		return refuse("the run is led by %q", run.Owner)
	}
	return err
}

// Leases that a worker may ask for.
const (
	minLease = time.Second
	maxLease = 10 * time.Minute
)

// queueFor makes the queue of a class and priority, unless it is there.
func (r *Runs) queueFor(ctx context.Context, q *request) error {
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

// Queue returns the tasks of a class and priority, which wait for a worker. A task that nobody confirms for as long as
// lease is given to another worker.
func (r *Runs) Queue(ctx context.Context, class, priority string, lease time.Duration) (jetstream.Consumer, error) {
	name := engine.QueueName(class, priority)
	if !r.asks() {
		return r.conn.Consumer(ctx, name, Tasks(class, priority), lease)
	}
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	var queue jetstream.Consumer
	err := engine.Try(ctx, func(ctx context.Context) (again bool, err error) {
		if _, err = r.request(ctx, askQueue, &request{Class: class, Priority: priority, Lease: lease}); err == nil {
			queue, err = r.conn.JS.Consumer(ctx, engine.Tasks, name)
		}
		return !isRefused(err), err
	})
	if err != nil {
		return nil, fmt.Errorf("take tasks: %w", err)
	}
	return queue, nil
}

// setupTime is how long a worker waits for a server that has just started.
const setupTime = time.Minute

func isRefused(err error) bool {
	_, is := errors.AsType[*RefusedError](err)
	return is
}
