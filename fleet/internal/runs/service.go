package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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

// maxServed is how many requests are looked at at once.
const maxServed = 64

// owns reports whether a worker of some name has a key.
func owns(key, worker string) bool { return strings.HasPrefix(worker, key+"/") }

// ledTime is how long a leader may take to say so.
const ledTime = time.Second

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

// Leases that a worker may ask for.
const (
	minLease = time.Second
	maxLease = 10 * time.Minute
)

// setupTime is how long a worker waits for a server that has just started.
const setupTime = time.Minute

func isRefused(err error) bool {
	_, is := errors.AsType[*RefusedError](err)
	return is
}
