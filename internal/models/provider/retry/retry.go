// Package retry makes a model out of one that fails now and then.
//
//	m = retry.New(m, retry.FromEnv(os.Getenv))
//
// A request that fails for a reason that passes is sent again, after as long as
// the server asked for, or else after a time that doubles. What has come of an
// answer that broke off does not count, and the next [model.Start] says so; but
// once a block of it was whole it is not sent again, because a call in it may
// have been run: the error is returned, and the conversation continues from what
// it has. A server on this machine that is not running is asked twice.
//
// The model that New returns is as safe for concurrent use as the one it is
// given, and keeps nothing between requests: whoever wants to stay with the model
// of a [model.Fallback] asks for it the next time.
package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/haftdev/haft/model"
)

// Options say how patient to be.
type Options struct {
	// Max is how often a request is sent again; 0 means 10, less than 0 never.
	Max int
	// Delay is the first pause; 0 means half a second. Each is twice as long as
	// the one before, up to 64 times, and up to a fifth longer by chance.
	Delay time.Duration
	// Wait is how long a request may wait for its attempts altogether; 0 means 10
	// minutes. A server that asks for more, by retry-after, is not waited for: the
	// error names the time.
	Wait time.Duration
	// Answer is how many bytes an answer may have; 0 means 16 MB.
	Answer int
	// Fallbacks are the models that are asked, one after the other, when one was
	// overloaded three times in a row.
	Fallbacks []string
	// Start is the command that starts the server if it is on this machine; "" means
	// that it is not known.
	Start string
}

// waitEnv sets how long a request may wait for its attempts, in milliseconds.
const waitEnv = "HAFT_MODEL_RETRY_WAIT_MS"

// FromEnv returns the options that the environment gives by CLAUDE_CODE_MAX_RETRIES and
// HAFT_MODEL_RETRY_WAIT_MS.
func FromEnv(getenv func(string) string) *Options {
	o := &Options{}
	if ms, err := strconv.Atoi(getenv(waitEnv)); err == nil && ms > 0 {
		o.Wait = time.Duration(ms) * time.Millisecond
	}
	if n, err := strconv.Atoi(getenv("CLAUDE_CODE_MAX_RETRIES")); err == nil {
		if o.Max = n; n <= 0 {
			o.Max = -1
		}
	}
	return o
}

// New returns a model that asks m again when it fails.
func New(m model.Model, opts *Options) model.Model {
	r := &retrier{model: m}
	if opts != nil {
		r.opts = *opts
		r.opts.Fallbacks = slices.Clone(opts.Fallbacks)
	}
	r.opts.Max = max(cmp.Or(r.opts.Max, 10), 0)
	r.opts.Wait = cmp.Or(r.opts.Wait, 10*time.Minute)
	r.opts.Answer = cmp.Or(r.opts.Answer, 16<<20)
	r.opts.Delay = cmp.Or(r.opts.Delay, 500*time.Millisecond)
	return r
}

type retrier struct {
	model model.Model
	opts  Options
}

func (r *retrier) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		a := &asking{retrier: r, ctx: ctx, req: req, fallbacks: r.opts.Fallbacks, yield: yield}
		for a.once() && a.again() {
		}
	}
}

// asking is a request on its way, which may take several attempts.
type asking struct {
	*retrier
	ctx       context.Context
	req       *model.Request
	fallbacks []string // that are left
	yield     func(model.Event, error) bool

	retries    int // of this model
	overloaded int // times in a row
	waited     time.Duration
	err        *model.Error
}

// once sends the request and passes its answer on. It reports whether the
// request may be sent again; err says why.
func (a *asking) once() bool {
	kept, size := false, 0 // whether a block was whole, and how much has come
	for ev, err := range a.model.Stream(a.ctx, a.req) {
		if err != nil {
			failure, ok := errors.AsType[*model.Error](err)
			if ok && !kept && a.ctx.Err() == nil && (failure.Temporary() || failure.Kind == model.UnknownModel && len(a.fallbacks) > 0) {
				a.err = failure
				return true
			}
			a.yield(nil, err)
			return false
		}
		switch ev := ev.(type) {
		case model.BlockStop:
			kept = true
		case model.Delta:
			if size += len(ev.Text); size > a.opts.Answer {
				a.yield(nil, tooLong(a.opts.Answer))
				return false
			}
		}
		if !a.yield(ev, nil) {
			return false
		}
	}
	return false
}

// overloads is how many in a row make a model be left for another.
const overloads = 3

// again waits until the request is to be sent again, and reports whether it is.
func (a *asking) again() bool {
	if a.err.Kind == model.Overloaded {
		a.overloaded++
	} else {
		a.overloaded = 0
	}
	if len(a.fallbacks) > 0 && (a.overloaded >= overloads || a.err.Kind == model.UnknownModel) {
		return a.fallBack()
	}
	most := a.opts.Max
	absent := refusedHere(a.err)
	if absent != "" {
		most = min(most, 1)
	}
	if a.retries >= most {
		if absent != "" {
			a.err = a.notRunning(absent)
		}
		a.yield(nil, a.err)
		return false
	}
	delay := a.delay()
	if a.waited+delay > a.opts.Wait {
		if len(a.fallbacks) > 0 {
			return a.fallBack()
		}
		a.yield(nil, a.tooLate(delay))
		return false
	}
	a.waited += delay
	a.retries++
	if !a.yield(model.Retry{Attempt: a.retries, Max: most, Delay: delay, Err: a.err}, nil) {
		return false
	}
	return a.wait(delay)
}

// refusedHere returns the address on this machine at which nobody listens, if that is
// why a request failed: waiting starts no server. "" if it is not.
func refusedHere(err error) string {
	dial, ok := errors.AsType[*net.OpError](err)
	if !ok || !errors.Is(err, syscall.ECONNREFUSED) || dial.Addr == nil {
		return ""
	}
	addr, ok := dial.Addr.(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		return ""
	}
	return addr.String()
}

// notRunning is the error of a server that is not running.
func (a *asking) notRunning(addr string) *model.Error {
	said := *a.err
	said.Message = fmt.Sprintf("nothing is listening at %s on this machine: the model's server is not running", addr)
	if a.opts.Start != "" {
		said.Message += ". Start it: " + a.opts.Start
	} else {
		said.Message += ". Start it, or choose another model with --model"
	}
	said.ShouldRetry = new(bool)
	return &said
}

// tooLate is the error of a server that wants more time than there is.
func (a *asking) tooLate(delay time.Duration) *model.Error {
	said := *a.err
	said.Message += fmt.Sprintf(" (the next retry would be in %s, at %s; a request waits at most %s, set in milliseconds by %s)",
		delay.Round(time.Second), time.Now().Add(delay).Format("2006-01-02 15:04 MST"), a.opts.Wait, waitEnv)
	said.ShouldRetry = new(bool)
	return &said
}

// tooLong is the error of an answer that does not end.
func tooLong(limit int) *model.Error {
	return &model.Error{Kind: model.Garbled, ShouldRetry: new(bool), Message: fmt.Sprintf("the answer is longer than the limit of %d MB", limit>>20)}
}

func (a *asking) fallBack() bool {
	from, to := a.req.Model, a.fallbacks[0]
	a.fallbacks = a.fallbacks[1:]
	other := *a.req
	other.Model = to
	a.req, a.retries, a.overloaded, a.waited = &other, 0, 0, 0
	return a.yield(model.Fallback{From: from, To: to, Err: a.err}, nil)
}

// delay is how long to wait before the next attempt.
func (a *asking) delay() time.Duration {
	if a.err.RetryAfter > 0 {
		return a.err.RetryAfter
	}
	delay := a.opts.Delay << min(a.retries, 6)
	return delay + time.Duration(rand.Int64N(int64(delay)/5+1))
}

func (a *asking) wait(delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.ctx.Done():
		a.yield(nil, a.ctx.Err())
		return false
	}
}
