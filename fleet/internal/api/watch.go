package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/wire"
)

// A watcher is one of a session.
type watcher struct {
	serve.Watcher
	id    string
	ctx   context.Context
	asked map[string]*asking // questions that were put to it; under the backend's lock
}

// asking is a question that a watcher has not answered yet.
type asking struct{ cancel context.CancelFunc }

// Watch implements [serve.Backend].
func (b *Backend) Watch(ctx context.Context, id string, o serve.Watcher) {
	w := &watcher{Watcher: o, id: id, ctx: ctx, asked: map[string]*asking{}}
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
		b.Log.Warn("could not watch a run", "run", id, "error", err)
	}
}

// tell tells the result of a prompt, after what its turn has written.
func (b *Backend) tell(w *watcher, out *runs.Outcome) {
	m, err := wire.Decode(resultOf(w.id, out))
	if err != nil {
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
		if a := w.asked[id]; a != nil {
			a.cancel()
			delete(w.asked, id)
		}
	}
}

// ask puts a question of the session to a watcher, once. The backend is locked.
func (b *Backend) ask(w *watcher, q *runs.Question) {
	if q.Run != w.id || w.asked[q.ID] != nil {
		return
	}
	ctx, cancel := context.WithCancel(w.ctx)
	this := &asking{cancel}
	w.asked[q.ID] = this
	go func() {
		defer b.ended(w, q.ID, this)
		r, err := b.request(ctx, q)
		if err != nil {
			b.Log.Warn("could not ask a question", "question", q.ID, "error", err)
			return
		}
		w.Ask(ctx, r, func(answer any) error { return b.answer(context.WithoutCancel(ctx), q, answer) })
	}()
}

// ended notes that a question is not put to a watcher any more. Another one of its name may be.
func (b *Backend) ended(w *watcher, id string, this *asking) {
	this.cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.asked[id] == this {
		delete(w.asked, id)
	}
}

// request is a question as the wire has it.
func (b *Backend) request(ctx context.Context, q *runs.Question) (wire.Request, error) {
	raw := q.Request
	if q.Blob != "" {
		var err error
		if raw, err = b.logs.Blobs().Get(ctx, q.Blob); err != nil {
			return nil, err
		}
	}
	if q.Kind == runs.Elicits {
		r := new(wire.Elicitation)
		_ = json.Unmarshal(raw, r) // a worker wrote it
		return r, nil
	}
	r := &wire.CanUseTool{ToolName: q.Tool, Title: q.Title, Input: q.Input}
	_ = json.Unmarshal(raw, r) // as above; one of an older worker has none
	return r, nil
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
		a.Allow, a.Message, a.By = said.Behavior == wire.BehaviorAllow, said.Message, cmp.Or(said.By, b.Name)
	case *wire.ElicitationReply:
		a.Allow, a.By = said.Action == "accept", cmp.Or(said.By, b.Name)
	}
	if len(raw) > runs.MaxInline {
		if a.Reply, a.Blob = nil, blob.Digest(raw); len(a.Message) > runs.MaxInline {
			a.Message = "" // the reply has it
		}
		if err := b.logs.Blobs().Put(ctx, a.Blob, raw); err != nil {
			return err
		}
	}
	err = b.runs.Answer(ctx, q.ID, a)
	var late *runs.AnsweredError
	if errors.As(err, &late) {
		reply, err := late.Answer.JSON(ctx, b.logs.Blobs(), q.Kind)
		if err != nil {
			return err
		}
		return serve.Answered(late.Answer.By, reply)
	}
	return err
}
