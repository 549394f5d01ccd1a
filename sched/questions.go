package sched

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/haftdev/haft/internal/guard/questions"
	"github.com/haftdev/haft/tool"
)

// Questions are the calls that wait for someone's decision. Schedulers may share them. The
// first answer takes a question out: an [Asker] answers by returning, anyone else by
// [Questions.Answer]. What an answer brings beside its verdict takes effect after that, in
// Settled, so that an answer that is too late changes nothing. It is safe for concurrent use.
type Questions struct {
	opts  QuestionsOptions
	table questions.Table[reply]
}

// QuestionsOptions say what happens to questions. Nil means all zero values.
type QuestionsOptions struct {
	// NewID returns the id of a new question; nil means a random text.
	NewID func() string
	// Opened is called with a new question before anyone is asked, and may add to it; ctx
	// ends when it is not open any more. An error denies the call. Nil means nothing to do.
	Opened func(ctx context.Context, q *Question) error
	// Settled is called once for each question, with the answer that counts, before the
	// call continues: it makes the grants. The verdict is NoView if there is no answer;
	// elsewhere says that no asker gave it. It returns the verdict as it took effect; an
	// error denies the call. Nil keeps the verdict, and its grants do nothing.
	Settled func(ctx context.Context, q *Question, v tool.Verdict, elsewhere bool) (tool.Verdict, error)
}

// A Question is a call that the rules leave open.
type Question struct {
	Case tool.Case // with the id of the question
	// Asked is the verdict that asked.
	Asked tool.Verdict
}

// reply is an answer to a question.
type reply struct {
	v         tool.Verdict
	elsewhere bool
}

// NewQuestions returns an empty table.
func NewQuestions(o *QuestionsOptions) *Questions {
	q := new(Questions)
	if o != nil {
		q.opts = *o
	}
	if q.opts.NewID == nil {
		q.opts.NewID = rand.Text
	}
	if q.opts.Opened == nil {
		q.opts.Opened = func(context.Context, *Question) error { return nil }
	}
	if q.opts.Settled == nil {
		q.opts.Settled = func(_ context.Context, _ *Question, v tool.Verdict, _ bool) (tool.Verdict, error) { return v, nil }
	}
	return q
}

// Answer answers a question with an Allow or a Deny, and reports whether the answer counts.
// It returns when what the answer brings is in effect.
func (s *Questions) Answer(id string, v tool.Verdict) bool {
	return decides(v) && s.table.Answer(id, reply{v, true})
}

func decides(v tool.Verdict) bool { return v.Behavior == tool.Allow || v.Behavior == tool.Deny }

// ask opens a question, puts it to the askers, and returns the answer that counts, or why
// there is none.
func (s *Questions) ask(ctx context.Context, askers []Asker, c tool.Case, asked tool.Verdict) (v tool.Verdict, why string) {
	c.Question = s.opts.NewID()
	q := &Question{Case: c, Asked: asked}
	whys := reasons{last: "no one can approve it"}
	var ask []func(context.Context) (reply, bool)
	for _, a := range askers {
		ask = append(ask, func(ctx context.Context) (reply, bool) {
			v := tool.Verdict{Reason: "the permission prompt ended without an answer"}
			defer func() { whys.note(v) }() // also if the asker ends this goroutine
			v = answer(ctx, a, q.Case, q.Asked)
			return reply{v: v}, decides(v)
		})
	}
	failed := func(err error) { whys.note(tool.Verdict{Reason: fmt.Sprintf("the permission prompt failed: %v", err)}) }
	err := s.table.Ask(ctx, c.Question, func(r reply) {
		var err error
		if v, err = s.opts.Settled(context.WithoutCancel(ctx), q, r.v, r.elsewhere); err != nil {
			v = tool.Verdict{}
			failed(err)
		}
	}, func(ctx context.Context) error { return s.opts.Opened(ctx, q) }, ask...)
	if err != nil {
		failed(err)
	}
	return v, whys.get()
}

// answer asks one asker. If the asker itself fails, that decides nothing.
func answer(ctx context.Context, a Asker, c tool.Case, asked tool.Verdict) (v tool.Verdict) {
	defer func() {
		if p := recover(); p != nil {
			v = tool.Verdict{Reason: fmt.Sprintf("the permission prompt crashed: %v", p)}
		}
	}()
	v, err := a.Ask(ctx, c, asked)
	if err != nil {
		return tool.Verdict{Reason: fmt.Sprintf("the permission prompt failed: %v", err)}
	}
	return v
}

// reasons keep why nobody has decided.
type reasons struct {
	mu   sync.Mutex
	last string
}

func (r *reasons) note(v tool.Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.Reason != "" && !decides(v) {
		r.last = v.Reason
	}
}

func (r *reasons) get() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
