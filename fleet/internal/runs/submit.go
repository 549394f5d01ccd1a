package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/session"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// AnyWorker is the class of runs that every worker may take.
const AnyWorker = "any"

// OnHost is the class of runs that only workers on a host may take.
func OnHost(host string) string {
	return "host-" + strings.Map(func(r rune) rune {
		if engine.Word(string(r)) {
			return r
		}
		return '_'
	}, host)
}

// Tasks returns the subjects of the tasks of a class and priority.
func Tasks(class, priority string) string { return "task." + class + "." + priority + ".*" }

// Normal is the priority of a run that has no other.
const Normal = "normal"

// A Prompt is what a user wants of a session.
type Prompt struct {
	// UUID names it: a prompt that is sent again under the same name is the same prompt.
	UUID string    `json:"uuid"`
	Text string    `json:"text"`
	Sent time.Time `json:"sent"`
	// Content is the prompt as the wire has it, if it is more than text; Blob is the digest
	// of one that is too large to be sent.
	Content json.RawMessage `json:"content,omitempty"`
	Blob    string          `json:"blob,omitempty"`
	// Connect is where a program waits that leads the conversation itself; "" for a prompt.
	// Args are [FlagsFollow], or its flags if an older version has submitted it.
	Connect string   `json:"connect,omitempty"`
	Args    []string `json:"args,omitempty"`

	// Run is its run as it was then, unless that is large: [Runs.Repair] makes a lost run again from it.
	Run *Run `json:"run,omitempty"`

	// Kept is when the engine had it.
	Kept time.Time `json:"-"`

	seq uint64
}

// FlagsFollow are the flags of a program that sends its flags over its connection: they may
// have secrets in them, which the engine would keep. A worker of an older version, which does
// not wait for them, refuses to begin with these.
func FlagsFollow() []string { return []string{"--output-format=follows"} }

// A Submission begins a run, or continues one.
type Submission struct {
	// ID is the session; "" begins a new one.
	ID string
	// Class, Priority, Dir, Args and Tags are those of a new run.
	Class, Priority, Dir string
	Args                 []string
	Tags                 map[string]string
	// Host is the machine that has the folder Dir of a new run; "" if that is not known.
	Host string
	// Workspace is where the files of a new run come from; nil means the folder Dir.
	Workspace *Workspace
	// Mode, Model and Title are those of a new run, besides what Args say.
	Mode, Model, Title string
	// Ask lets a new run ask users.
	Ask bool
	// Prompt is what it shall do; its UUID may be "".
	Prompt Prompt
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

// run is a new run of a submission.
func (s *Submission) run(id, text string) *Run {
	return &Run{
		ID: id, State: Queued, Class: cmp.Or(s.Class, AnyWorker), Priority: s.Priority, Dir: s.Place(), Host: s.Host, Args: s.Args, Mode: s.Mode, Model: s.Model, Given: &Given{s.Mode, s.Model, s.Title},
		Title: s.Title, First: firstLine(text), Tags: s.Tags, Ask: s.Ask, Created: time.Now().UTC(), Workspace: s.Workspace,
	}
}

// Place is where the run of a submission works: a folder, or a repository, which cannot be taken
// for one.
func (s *Submission) Place() string {
	if s.Workspace != nil {
		return "git+" + s.Workspace.Spec.String()
	}
	return s.Dir
}

// firstLine is the beginning of a prompt, for lists.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > 120 {
		return string(runes[:119]) + "…"
	}
	return line
}

// ErrTooLarge is the error for a prompt that does not fit into a message.
var ErrTooLarge = errors.New("the prompt and flags are too large for the fleet; put long text into a file and refer to the file in the prompt")

// maxCopy is how large the copy of a run may be that is kept with a prompt.
const maxCopy = 64 << 10

// headers is how much of a message its headers may take.
const headers = 4 << 10

// ErrFull is the error for a run that is one too many.
var ErrFull = errors.New("too many runs are unfinished")

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

// limitTime is how long it may take until a new limit counts.
const limitTime = 5 * time.Second

// subject is that of a prompt ("p") or an outcome ("r").
func (r *Runs) subject(kind, id, name string) string {
	return shardSubject(kind, engine.ShardOf(id), r.tenant, id, name)
}

func shardSubject(kind string, shard uint32, tenant, id, name string) string {
	return kind + "." + strconv.FormatUint(uint64(shard), 10) + "." + tenant + "." + id + "." + name
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

// once publishes what may be there already, and then is. It does not wait for a server whose
// disk is full.
func (r *Runs) once(ctx context.Context, subject string, raw []byte) error {
	return engine.Try(ctx, func(ctx context.Context) (bool, error) {
		_, err := r.conn.JS.Publish(ctx, subject, raw, jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
		if code(err) == jetstream.JSErrCodeStreamWrongLastSequence {
			return false, nil
		}
		return !engine.NoRoom(err), err
	})
}

func code(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}

// Wake makes a task for a run, unless there is one.
func (r *Runs) Wake(ctx context.Context, run *Run) error {
	const full = 10077 // the run has a task; or there is no room for it, and the sweeper makes it later
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		if r.asks() {
			_, err := r.request(ctx, askWake, &request{ID: run.ID})
			return true, err
		}
		_, err := r.conn.JS.Publish(ctx, run.task(), []byte(r.tenant), jetstream.WithRetryAttempts(0))
		if code(err) == full || engine.NoRoom(err) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return fmt.Errorf("could not queue run %s: %w", run.ID, err)
	}
	return nil
}

// Tasked reports whether a run has a task: one that waits for a worker, or that a worker has not given
// back yet because it still writes what the run has done.
func (r *Runs) Tasked(ctx context.Context, id string) (has bool, err error) {
	err = engine.Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := r.conn.Stream(ctx, engine.Tasks)
		if err != nil {
			return true, err
		}
		// The class may have changed since the task was made.
		info, err := s.Info(ctx, jetstream.WithSubjectFilter("task.*.*."+id))
		if err == nil {
			has = len(info.State.Subjects) > 0
		}
		return true, err
	})
	if err != nil {
		return false, fmt.Errorf("could not check whether run %s is queued: %w", id, err)
	}
	return has, nil
}

// Pending returns the prompts of a run that have no outcome, in the order in which they
// were sent.
func (r *Runs) Pending(ctx context.Context, id string) ([]Prompt, error) {
	var list []Prompt
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		list = nil
		s, err := r.conn.Stream(ctx, engine.Sessions(engine.ShardOf(id)))
		if err != nil {
			return true, err
		}
		sent, err := s.Info(ctx, jetstream.WithSubjectFilter(r.subject("p", id, "*")))
		if err != nil {
			return true, err
		}
		done, err := s.Info(ctx, jetstream.WithSubjectFilter(r.subject("r", id, "*")))
		if err != nil {
			return true, err
		}
		for subject := range sent.State.Subjects {
			if _, ok := done.State.Subjects["r"+subject[1:]]; ok {
				continue
			}
			m, err := s.GetLastMsgForSubject(ctx, subject)
			if err != nil {
				return true, err
			}
			p := Prompt{seq: m.Sequence, Kept: m.Time}
			if err := json.Unmarshal(m.Data, &p); err != nil {
				return false, fmt.Errorf("a prompt is damaged: %w", err)
			}
			list = append(list, p)
		}
		return false, nil
	})
	if err != nil {
		return nil, fmt.Errorf("could not read the prompts of run %s: %w", id, err)
	}
	slices.SortFunc(list, func(a, b Prompt) int { return cmp.Compare(a.seq, b.seq) })
	return list, nil
}

func sortRuns(list []*Run) {
	slices.SortFunc(list, func(a, b *Run) int { return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID)) })
}
