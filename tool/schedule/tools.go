package schedule

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/tool"
)

var (
	//go:embed wakeup.md
	wakeupText string
	//go:embed croncreate.md
	createText string
)

// Tools returns the tools of the schedule.
func (s *Schedule) Tools() []tool.Tool {
	return []tool.Tool{s.wakeup(), s.cronCreate(), s.cronList(), s.cronDelete()}
}

// WakeupInput is what the model sends to ScheduleWakeup.
type WakeupInput struct {
	Delay  float64 `json:"delaySeconds,omitempty" jsonschema:"Seconds from now, 60 to 3600." haft:"alias=delay_seconds|seconds;example=1200"`
	Reason string  `json:"reason,omitempty" jsonschema:"One sentence that tells the user why then." haft:"example=The build takes about 20 minutes."`
	Prompt string  `json:"prompt,omitempty" jsonschema:"What to do then; it is sent to you as it is." haft:"example=Check whether the build has passed."`
	Stop   bool    `json:"stop,omitempty" jsonschema:"Cancel the wake-up that is set, instead of setting one."`
	Noop   *bool   `json:"noop,omitempty" jsonschema:"Set it if nothing has changed since the last wake-up."`
}

// WakeupOutput is what programs get from ScheduleWakeup.
type WakeupOutput struct {
	ScheduledFor int64 `json:"scheduledFor,omitempty"` // milliseconds since 1970
	Delay        int   `json:"clampedDelaySeconds,omitempty"`
	Clamped      bool  `json:"wasClamped,omitempty"`
	Stopped      bool  `json:"stopped,omitempty"`
	Cancelled    int   `json:"cancelledWakeups,omitempty"`
}

// The least and the most that a wake-up may be ahead, in seconds.
const minDelay, maxDelay = 60, 3600

var own = tool.Marks{ReadOnly: true, Effect: tool.Idempotent} // it is the conversation's own business, so plan mode has it too

func allowed[In any](context.Context, *tool.Call, In) tool.Verdict {
	return tool.Verdict{Behavior: tool.Allow, Reason: "it only sends this conversation a prompt later"}
}

// refuse refuses calls where nothing can continue later: outside of a conversation, and
// of agents, which have ended when the time comes.
func (s *Schedule) refuse(c *tool.Call) *tool.Problem {
	s.mu.Lock()
	started := s.started
	s.mu.Unlock()
	switch {
	case !started:
		return &tool.Problem{Message: "There is no conversation here that can continue later. Call " + c.Tool + " in a session."}
	case c.Agent == "":
		return nil
	}
	return &tool.Problem{Message: c.Tool + " is for the main conversation: an agent ends before the prompt is due. Report what should be done, and when."}
}

func (s *Schedule) wakeup() tool.Tool {
	return tool.New(tool.Def[WakeupInput, WakeupOutput]{
		Name:        "ScheduleWakeup",
		SearchHint:  "wake up later continue wait delay timer loop remind schedule",
		Description: wakeupText,
		Marks:       func(WakeupInput) tool.Marks { return own },
		Validate: func(_ context.Context, c *tool.Call, in WakeupInput) *tool.Problem {
			switch {
			case in.Stop:
			case in.Delay <= 0 || strings.TrimSpace(in.Prompt) == "":
				return &tool.Problem{Message: "delaySeconds and prompt are required: when to wake up, and what to do then. To cancel the wake-up that is set, set stop instead."}
			case len(in.Prompt) > maxPrompt:
				return &tool.Problem{Message: fmt.Sprintf("prompt has %d bytes; the maximum is %d. Give a shorter one.", len(in.Prompt), maxPrompt)}
			}
			return s.refuse(c)
		},
		Permission: allowed[WakeupInput],
		Run:        s.runWakeup,
		Render:     s.renderWakeup,
		Summarize: func(in WakeupInput) string {
			if in.Stop {
				return "cancel"
			}
			return fmt.Sprintf("in %v: %s", time.Duration(in.Delay)*time.Second, in.Reason)
		},
		Deferred: true,
	})
}

// runWakeup sets the one wake-up that there is, or cancels it.
func (s *Schedule) runWakeup(_ context.Context, _ *tool.Call, in WakeupInput) (out WakeupOutput, err error) {
	now := s.opts.Clock.Now()
	s.change(func(jobs []Job) []Job {
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool {
			if j.Cron == "" {
				out.Cancelled++
			}
			return j.Cron == ""
		})
		if in.Stop {
			out.Stopped = true
			return jobs
		}
		out.Cancelled = 0 // the new one replaces it
		delay := min(max(in.Delay, minDelay), maxDelay)
		out.Delay, out.Clamped = int(delay), delay != in.Delay
		at := now.Add(time.Duration(delay) * time.Second)
		out.ScheduledFor = at.UnixMilli()
		return append(jobs, Job{ID: newID(), Human: "once", Prompt: in.Prompt, Reason: in.Reason, Created: now, Next: at})
	})
	return out, nil
}

func (s *Schedule) renderWakeup(out WakeupOutput) tool.Result {
	switch {
	case out.Stopped && out.Cancelled == 0:
		return tool.Text("No wake-up was set.")
	case out.Stopped:
		return tool.Text("The wake-up was cancelled.")
	}
	text := fmt.Sprintf("Next wake-up at %s (in %d s).", time.UnixMilli(out.ScheduledFor).In(s.opts.Clock.Now().Location()).Format("15:04:05"), out.Delay)
	if out.Clamped {
		text += fmt.Sprintf(" delaySeconds was set to %d: it must be from %d to %d.", out.Delay, minDelay, maxDelay)
	}
	return tool.Text(text)
}

// CreateInput is what the model sends to CronCreate.
type CreateInput struct {
	Cron      string `json:"cron" jsonschema:"When: minute, hour, day of the month, month, day of the week, in local time." haft:"min=1;alias=schedule|expression;example=*/15 9-17 * * 1-5"`
	Prompt    string `json:"prompt" jsonschema:"What to do then; it is sent to you as it is." haft:"min=1;max=20000;example=Check for new review comments."`
	Recurring *bool  `json:"recurring,omitempty" jsonschema:"Whether it repeats; otherwise it comes once, at the next such time." haft:"default=true"`
	Durable   bool   `json:"durable,omitempty" jsonschema:"Has no effect: every job is kept with the session."`
}

// CreateOutput is what programs get from CronCreate.
type CreateOutput struct {
	ID        string `json:"id"`
	Human     string `json:"humanSchedule"`
	Recurring bool   `json:"recurring"`
	Durable   bool   `json:"durable"`
	Next      int64  `json:"nextRun"` // milliseconds since 1970
}

func (s *Schedule) cronCreate() tool.Tool {
	return tool.New(tool.Def[CreateInput, CreateOutput]{
		Name:        "CronCreate",
		SearchHint:  "schedule recurring prompt cron job every hour day repeat later",
		Description: createText,
		Marks:       func(CreateInput) tool.Marks { return tool.Marks{ReadOnly: true} },
		Validate: func(_ context.Context, c *tool.Call, in CreateInput) *tool.Problem {
			if _, err := parse(in.Cron); err != nil {
				return &tool.Problem{Message: fmt.Sprintf("cron is invalid: %v. Give an expression such as 30 9 * * 1-5.", err)}
			}
			return s.refuse(c)
		},
		Permission: allowed[CreateInput],
		Run:        s.runCreate,
		Render: func(o CreateOutput) tool.Result {
			how := "once"
			if o.Recurring {
				how = o.Human + ", for 7 days"
			}
			return tool.Text(fmt.Sprintf("Job %s is set: %s, next at %s.", o.ID, how, time.UnixMilli(o.Next).In(s.opts.Clock.Now().Location()).Format("2006-01-02 15:04")))
		},
		Summarize: func(in CreateInput) string { return human(in.Cron) + ": " + in.Prompt },
		Deferred:  true,
	})
}

func (s *Schedule) runCreate(_ context.Context, _ *tool.Call, in CreateInput) (out CreateOutput, err error) {
	c, err := parse(in.Cron)
	if err != nil {
		return out, tool.Errorf("cron is invalid: %w", err)
	}
	now := s.opts.Clock.Now()
	j := Job{
		ID: newID(), Cron: in.Cron, Human: human(in.Cron), Prompt: in.Prompt, Recurring: in.Recurring == nil || *in.Recurring, Durable: in.Durable, Created: now, Next: c.next(now),
	}
	full := false
	s.change(func(jobs []Job) []Job {
		if full = len(jobs) >= maxJobs; full {
			return jobs
		}
		return append(slices.Clone(jobs), j)
	})
	if full {
		return out, tool.Errorf("There are already %d jobs, the maximum. Remove one with CronDelete first.", maxJobs)
	}
	return CreateOutput{ID: j.ID, Human: j.Human, Recurring: j.Recurring, Durable: j.Durable, Next: j.Next.UnixMilli()}, nil
}

// ListOutput is what programs get from CronList.
type ListOutput struct {
	Jobs []Job `json:"jobs"`
}

func (s *Schedule) cronList() tool.Tool {
	return tool.New(tool.Def[struct{}, ListOutput]{
		Name:        "CronList",
		SearchHint:  "list scheduled jobs cron wake-ups timers",
		Description: "Lists the prompts scheduled for this conversation, recurring or not, with their ids and next times.",
		Marks:       func(struct{}) tool.Marks { return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure} },
		Permission:  allowed[struct{}],
		Run: func(context.Context, *tool.Call, struct{}) (ListOutput, error) {
			return ListOutput{append([]Job{}, s.Jobs()...)}, nil
		},
		Render: func(o ListOutput) tool.Result {
			if len(o.Jobs) == 0 {
				return tool.Text("Nothing is scheduled.")
			}
			var lines []string
			for _, j := range o.Jobs {
				lines = append(lines, fmt.Sprintf("%s: %s, next at %s: %s", j.ID, j.Human, j.Next.Format("2006-01-02 15:04:05"), j.Prompt))
			}
			return tool.Text(strings.Join(lines, "\n"))
		},
		Deferred: true,
	})
}

// DeleteInput is what the model sends to CronDelete, and what programs get.
type DeleteInput struct {
	ID string `json:"id" jsonschema:"The id of the job." haft:"min=1;alias=job_id;example=1a2b3c4d"`
}

func (s *Schedule) cronDelete() tool.Tool {
	return tool.New(tool.Def[DeleteInput, DeleteInput]{
		Name:        "CronDelete",
		SearchHint:  "delete remove cancel scheduled job cron",
		Description: "Removes a scheduled prompt by its id.",
		Marks:       func(DeleteInput) tool.Marks { return own },
		Permission:  allowed[DeleteInput],
		Run: func(_ context.Context, _ *tool.Call, in DeleteInput) (DeleteInput, error) {
			found := false
			s.change(func(jobs []Job) []Job {
				return slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool {
					found = found || j.ID == in.ID
					return j.ID == in.ID
				})
			})
			if !found {
				return in, tool.Errorf("There is no job with the id %q. CronList shows the jobs.", in.ID)
			}
			return in, nil
		},
		Render:    func(o DeleteInput) tool.Result { return tool.Text("Job " + o.ID + " was removed.") },
		Summarize: func(in DeleteInput) string { return in.ID },
		Deferred:  true,
	})
}
