package api

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/serve"
	"github.com/haftdev/haft/wire"
)

// A watcher is one of a session.
type watcher struct {
	serve.Watcher
	id    string
	ctx   context.Context
	asked map[string]context.CancelFunc // questions that were put to it; under the backend's lock
}

// Watch implements [serve.Backend].
func (b *Backend) Watch(ctx context.Context, id string, o serve.Watcher) {
	w := &watcher{Watcher: o, id: id, ctx: ctx, asked: map[string]context.CancelFunc{}}
	b.mu.Lock()
	b.watchers[w] = true
	for _, q := range b.questions {
		b.ask(w, q)
	}
	b.mu.Unlock()
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, w)
	})
	if err := b.runs.Outcomes(ctx, id, func(out *runs.Outcome) { b.tell(w, out) }); err != nil {
		b.Log.Warn("could not follow a run", "run", id, "error", err)
	}
}

// tell tells the result of a prompt, after what its turn has written.
func (b *Backend) tell(w *watcher, out *runs.Outcome) {
	m, err := wire.Decode(out.Result)
	if out.Result == nil || err != nil {
		return
	}
	b.awaitRest(w.ctx, w.id)
	if err := b.Refresh(w.ctx, w.id); err != nil {
		b.Log.Warn("could not copy a journal", "run", w.id, "error", err)
	}
	w.Tell(m)
}

// restTime is how long a worker may take to say that it has nothing more to do.
const restTime = 5 * time.Second

// awaitRest waits until a run without prompts is known to rest, so that who hears its last
// result does not find it at work.
func (b *Backend) awaitRest(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	for {
		if pending, err := b.runs.Pending(ctx, id); err != nil || len(pending) > 0 || !b.Status(id, "").Working {
			return
		}
		if engine.Pause(ctx, 10*time.Millisecond) != nil {
			return
		}
	}
}

// noteQuestion takes a question, or that it is not open any more.
func (b *Backend) noteQuestion(id string, q *runs.Question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q != nil && q.Answer == nil {
		b.questions[id] = q
		for w := range b.watchers {
			b.ask(w, q)
		}
		return
	}
	delete(b.questions, id)
	for w := range b.watchers {
		if cancel := w.asked[id]; cancel != nil {
			cancel()
			delete(w.asked, id)
		}
	}
}

// ask puts a question of the session to a watcher, once. The backend is locked.
func (b *Backend) ask(w *watcher, q *runs.Question) {
	if q.Run != w.id || w.asked[q.ID] != nil {
		return
	}
	r := request(q)
	ctx, cancel := context.WithCancel(w.ctx)
	w.asked[q.ID] = cancel
	go func() {
		defer cancel()
		w.Ask(ctx, r, func(answer any) error { return b.answer(context.WithoutCancel(ctx), q, answer) })
	}()
}

// request is a question as the wire has it.
func request(q *runs.Question) wire.Request {
	if q.Kind == runs.Elicits {
		r := new(wire.Elicitation)
		_ = json.Unmarshal(q.Request, r) // a worker wrote it
		return r
	}
	r := &wire.CanUseTool{ToolName: q.Tool, Title: q.Title, Input: q.Input}
	_ = json.Unmarshal(q.Request, r) // as above; one of an older worker has none
	return r
}

// answer settles a question, if nobody has.
func (b *Backend) answer(ctx context.Context, q *runs.Question, answer any) error {
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	a := runs.Answer{By: b.Name, Reply: raw}
	switch said := answer.(type) {
	case *wire.PermissionAnswer:
		a.Allow, a.Message = said.Behavior == wire.BehaviorAllow, said.Message
	case *wire.ElicitationReply:
		a.Allow = said.Action == "accept"
	}
	err = b.runs.Answer(ctx, q.ID, a)
	var late *runs.AnsweredError
	if errors.As(err, &late) {
		reply, err := late.Answer.JSON(q.Kind)
		if err != nil {
			return err
		}
		return serve.Answered(late.Answer.By, reply)
	}
	return err
}
