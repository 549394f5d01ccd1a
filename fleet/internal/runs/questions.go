package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// A Question is about a call that the rules of a run leave to a user.
type Question struct {
	ID    string          `json:"id"`
	Run   string          `json:"run"`
	Tool  string          `json:"tool"`
	Title string          `json:"title,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// Request is the request of the wire, as its Kind says: can_use_tool or elicitation.
	Kind    string          `json:"kind,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	// Blob is the digest of a request that is too large to be sent; Input is missing then, too.
	Blob  string    `json:"blob,omitempty"`
	Asked time.Time `json:"asked"`
	// Answer is the first that was given; nil means none yet.
	Answer *Answer `json:"answer,omitempty"`

	revision uint64
}

// An Answer settles a question.
type Answer struct {
	Allow   bool      `json:"allow"`
	Message string    `json:"message,omitempty"` // the reason for a denial, for the model
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	// Reply is the answer as the wire has it; nil means what Allow and Message say.
	Reply json.RawMessage `json:"reply,omitempty"`
	// Blob is the digest of a reply that is too large to be sent.
	Blob string `json:"blob,omitempty"`
}

// MaxInline is how large a content is sent by itself; a larger one is kept as a blob.
const MaxInline = 256 << 10

// JSON is the answer to a question of some kind as the wire has it.
func (a *Answer) JSON(ctx context.Context, blobs blob.Store, kind string) (json.RawMessage, error) {
	switch {
	case a.Blob != "":
		return blobs.Get(ctx, a.Blob)
	case a.Reply != nil:
		return a.Reply, nil
	case kind == Elicits && a.Allow:
		return json.RawMessage(`{"action":"accept","content":{}}`), nil
	case kind == Elicits:
		return json.RawMessage(`{"action":"decline"}`), nil
	case a.Allow:
		return json.RawMessage(`{"behavior":"allow"}`), nil
	}
	return json.Marshal(map[string]string{"behavior": "deny", "message": a.Message})
}

// Elicits is the kind of a question that an MCP server asks.
const Elicits = "elicitation"

// An AnsweredError says that another user was first.
type AnsweredError struct{ Answer Answer }

func (e *AnsweredError) Error() string {
	verb := "denied"
	if e.Answer.Allow {
		verb = "allowed"
	}
	return fmt.Sprintf("%s by %s at %s", verb, e.Answer.By, e.Answer.At.Local().Format(time.DateTime))
}

// The questions are those of the runs that wait for an answer.
type questions struct {
	store
}

// WatchQuestions is [Runs.Watch] for questions; one that was withdrawn is nil.
func (r *questions) WatchQuestions(ctx context.Context, ready func(), each func(id string, q *Question)) error {
	return r.watch(ctx, engine.Questions, ready, func(v jetstream.KeyValueEntry, id string) {
		if v.Operation() != jetstream.KeyValuePut {
			each(id, nil)
		} else if q, err := r.decodeQuestion(v); err == nil {
			each(id, q)
		}
	})
}

// Ask puts a question about a call of a run and waits for its answer until ctx ends. It is
// withdrawn then.
func (r *questions) Ask(ctx context.Context, q *Question, call string) (*Answer, error) {
	if !engine.Word(q.Run) {
		return nil, fmt.Errorf("ask: %q is not a valid run id", q.Run)
	}
	if !engine.Word(call) {
		sum := sha256.Sum256([]byte(call))
		call = hex.EncodeToString(sum[:8])
	}
	q.ID, q.Asked = q.Run+"."+call, time.Now().UTC()
	raw, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	if err := r.putQuestion(ctx, q.ID, raw); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		got, err := r.getQuestion(ctx, q.ID)
		switch {
		case err == nil && got.Answer != nil:
			return got.Answer, r.withdraw(context.WithoutCancel(ctx), q.ID)
		case errors.Is(err, ErrNotFound):
			return nil, errors.New("the question was withdrawn")
		}
		if engine.Pause(ctx, wait) != nil {
			return nil, errors.Join(ctx.Err(), r.withdraw(context.WithoutCancel(ctx), q.ID))
		}
	}
}

func (r *questions) putQuestion(ctx context.Context, id string, raw []byte) error {
	if r.asks() {
		return engine.Try(ctx, func(ctx context.Context) (bool, error) {
			_, err := r.request(ctx, askAsk, &request{ID: id, Value: raw})
			return !isRefused(err), err
		})
	}
	return r.question(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		_, err := kv.Put(ctx, r.key(id), raw)
		return err
	})
}

// question does something with the bucket of questions, again while the engine is away.
func (r *questions) question(ctx context.Context, do func(context.Context, jetstream.KeyValue) error) error {
	return engine.Try(ctx, func(ctx context.Context) (bool, error) {
		kv, err := r.conn.Bucket(ctx, engine.Questions)
		if err == nil {
			err = do(ctx, kv)
		}
		if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
			return false, ErrNotFound
		}
		return code(err) != jetstream.JSErrCodeStreamWrongLastSequence, err
	})
}

func (r *questions) getQuestion(ctx context.Context, id string) (q *Question, err error) {
	err = r.question(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		v, err := kv.Get(ctx, r.key(id))
		if err != nil {
			return err
		}
		q, err = r.decodeQuestion(v)
		if err != nil {
			return fmt.Errorf("%w: %w", jetstream.ErrKeyNotFound, err) // what cannot be read is no question
		}
		return nil
	})
	return q, err
}

// decodeQuestion reads a question. Its key says which it is and whose, as in [Runs.decode].
func (r *questions) decodeQuestion(v jetstream.KeyValueEntry) (*Question, error) {
	id := strings.TrimPrefix(v.Key(), r.key(""))
	run, call, _ := strings.Cut(id, ".")
	if !engine.Word(run) || !engine.Word(call) {
		return nil, fmt.Errorf("%q is not a valid question id", id)
	}
	q := new(Question)
	err := json.Unmarshal(v.Value(), q)
	q.ID, q.Run, q.revision = id, run, v.Revision()
	return q, err
}

// withdraw takes a question back. An answered one stays for a while, so that users who come
// later hear who was first.
func (r *questions) withdraw(ctx context.Context, id string) error {
	q, err := r.getQuestion(ctx, id)
	if err != nil || q.Answer != nil {
		return nil // nobody waits for it
	}
	if r.asks() {
		_, err := r.request(ctx, askWithdraw, &request{ID: id})
		return err
	}
	return r.question(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		return kv.Delete(ctx, r.key(id), jetstream.LastRevision(q.revision))
	})
}

// Withdraw takes the open questions of a run back: who asked them is gone.
func (r *questions) Withdraw(ctx context.Context, run string) error {
	var keys []string
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := r.conn.Stream(ctx, "KV_"+engine.Questions)
		if err != nil {
			return true, err
		}
		info, err := s.Info(ctx, jetstream.WithSubjectFilter("$KV."+engine.Questions+"."+r.key(run)+".*"))
		if err == nil {
			keys = slices.Collect(maps.Keys(info.State.Subjects))
		}
		return true, err
	})
	for _, key := range keys {
		err = errors.Join(err, r.withdraw(ctx, run+key[strings.LastIndexByte(key, '.'):]))
	}
	return err
}

// Questions returns those that are open, the oldest first.
func (r *questions) Questions(ctx context.Context) ([]*Question, error) {
	var list []*Question
	err := r.values(ctx, engine.Questions, func(v jetstream.KeyValueEntry) {
		if q, err := r.decodeQuestion(v); err == nil && q.Answer == nil {
			list = append(list, q)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list questions: %w", err)
	}
	return list, nil
}

// askFor puts a question for the worker that leads a run.
func (r *questions) askFor(ctx context.Context, key string, q *request) error {
	id := new(Question)
	if err := json.Unmarshal(q.Value, id); err != nil || id.Answer != nil {
		return refuse("that is not an open question (%v)", err)
	}
	if err := r.mayAsk(ctx, key, q.ID); err != nil {
		return err
	}
	return r.putQuestion(ctx, q.ID, q.Value)
}

func (r *questions) withdrawFor(ctx context.Context, key string, q *request) error {
	if err := r.mayAsk(ctx, key, q.ID); err != nil {
		return err
	}
	return r.withdraw(ctx, q.ID)
}

// mayAsk refuses a question of a run that somebody else leads.
func (r *questions) mayAsk(ctx context.Context, key, question string) error {
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
