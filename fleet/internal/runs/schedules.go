package runs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// A Schedule submits a new run again and again. The engine keeps the time; what was missed
// while it was away is made up for once.
type Schedule struct {
	Name string `json:"name"`
	// Cron is when: minute, hour, day of the month, month, day of the week; or "@every 1h".
	Cron string `json:"cron"`
	// Zone is the time zone, such as Europe/Berlin; "" means UTC.
	Zone       string     `json:"zone,omitempty"`
	Submission Submission `json:"submission"`
}

// Headers of the engine's schedules.
const (
	headSchedule = "Nats-Schedule"
	headZone     = "Nats-Schedule-Time-Zone"
	headTarget   = "Nats-Schedule-Target"
)

func (r *Runs) scheduleSubject(kind, name string) string { return kind + "." + r.tenant + "." + name }

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

// uuidOf is the UUID that belongs to a text.
func uuidOf(text string) string {
	h := sha256.Sum256([]byte(text))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // version 8, of one's own making
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
