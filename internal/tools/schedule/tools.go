package schedule

import _ "embed"

var (
	//go:embed wakeup.md
	wakeupText string
	//go:embed croncreate.md
	createText string
)

// wakeupInput is what the model sends to ScheduleWakeup.
type wakeupInput struct {
	Delay  float64 `json:"delaySeconds,omitempty" jsonschema:"Seconds from now, 60 to 3600." haft:"alias=delay_seconds|seconds;example=1200"`
	Reason string  `json:"reason,omitempty" jsonschema:"One sentence that tells the user why then." haft:"example=The build takes about 20 minutes."`
	Prompt string  `json:"prompt,omitempty" jsonschema:"What to do then; it is sent to you as it is." haft:"example=Check whether the build has passed."`
	Stop   bool    `json:"stop,omitempty" jsonschema:"Cancel the wake-up that is set, instead of setting one."`
	Noop   *bool   `json:"noop,omitempty" jsonschema:"Set it if nothing has changed since the last wake-up."`
}

// wakeupOutput is what programs get from ScheduleWakeup.
type wakeupOutput struct {
	ScheduledFor int64 `json:"scheduledFor,omitempty"` // milliseconds since 1970
	Delay        int   `json:"clampedDelaySeconds,omitempty"`
	Clamped      bool  `json:"wasClamped,omitempty"`
	Stopped      bool  `json:"stopped,omitempty"`
	Cancelled    int   `json:"cancelledWakeups,omitempty"`
}

// createInput is what the model sends to CronCreate.
type createInput struct {
	Cron      string `json:"cron" jsonschema:"When: minute, hour, day of the month, month, day of the week, in local time." haft:"min=1;alias=schedule|expression;example=*/15 9-17 * * 1-5"`
	Prompt    string `json:"prompt" jsonschema:"What to do then; it is sent to you as it is." haft:"min=1;max=20000;example=Check for new review comments."`
	Recurring *bool  `json:"recurring,omitempty" jsonschema:"Whether it repeats; otherwise it comes once, at the next such time." haft:"default=true"`
	Durable   bool   `json:"durable,omitempty" jsonschema:"Has no effect: every job is kept with the session."`
}

// createOutput is what programs get from CronCreate.
type createOutput struct {
	ID        string `json:"id"`
	Human     string `json:"humanSchedule"`
	Recurring bool   `json:"recurring"`
	Durable   bool   `json:"durable"`
	Next      int64  `json:"nextRun"` // milliseconds since 1970
}

// listOutput is what programs get from CronList.
type listOutput struct {
	Jobs []Job `json:"jobs"`
}

// deleteInput is what the model sends to CronDelete, and what programs get.
type deleteInput struct {
	ID string `json:"id" jsonschema:"The id of the job." haft:"min=1;alias=job_id;example=1a2b3c4d"`
}
