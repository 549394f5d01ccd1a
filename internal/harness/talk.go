package harness

import (
	"encoding/json"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/servers"
	"github.com/haftdev/haft/internal/tools/schedule"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
)

// TalkOptions say which conversation to open, and how to run it. Nil means all zero values.
type TalkOptions struct {
	// Model is the name or alias of the model, Fallback that of the one to use when it is
	// overloaded; "" means that of the settings or the environment, and none.
	Model, Fallback string
	// Client answers; nil means the one that the environment describes.
	Client model.Model
	// System replaces the system prompt; nil means haft's own, one empty string none at
	// all. AppendSystem is added to either.
	System       []string
	AppendSystem string
	// Limits bound a turn.
	Limits agent.Limits
	// Thinking, Effort, TaskBudget and Betas are those of the requests.
	Thinking   *model.ThinkingOptions
	Effort     string
	TaskBudget int
	Betas      []string
	// Schema describes the structured answer that is wanted; nil means text.
	Schema json.RawMessage

	// Resume is the id of the session to continue, at the message ResumeAt; "" means a new
	// one, or the last one of this folder with Continue. Fork leaves it as it is and
	// continues in a new one. ID names a new one.
	Resume, ResumeAt string
	// Drops is the prompt of the only turn that ResumeAt may leave out; "" means that it
	// may leave out anything.
	Drops          string
	Continue, Fork bool
	ID             string
	// Sessions is where sessions are kept; nil means the user's files.
	Sessions *session.Store
	// Steps returns what records the steps of calls in place of the session, which it must tell
	// of each; nil means the session itself.
	Steps func(*session.Session) sched.Recorder
	// Forget keeps the session in memory only.
	Forget bool
	// PlanInstructions say how to plan, instead of haft's own text; "" keeps that.
	PlanInstructions string
	// Title is what the session is called; "" leaves it.
	Title string

	// Person answers what the rules leave open; nil means that no one does. Interactive
	// says that a user can be asked questions.
	Person      sched.Asker
	Interactive bool
	// ByProgram says that a program drives the conversation; if it decides about calls, it
	// decides about the calls themselves, not about previews.
	ByProgram bool
	// Here names the front end whose user is asked, in the journal and for observers; ""
	// means the program or the terminal.
	Here string
	// Watch makes the channel through which others watch and control the conversation; nil
	// means that no one can.
	Watch func(*Conversation) Channel
	// Driver takes what they say; nil means the agent itself.
	Driver Driver
	// MCP are servers in addition to those of the settings.
	MCP servers.Given
	// Version is written into the session.
	Version string
	// States are facts that are kept in the session, and in those that follow when it is
	// cleared, under their names.
	States map[string]any
	// Clock is the clock for scheduled prompts; nil means that of this machine.
	Clock schedule.Clock

	// Kept is what another conversation of the same user passes on; nil means nothing.
	Kept *Kept

	// What the environment says about requests; zero values mean that it does not.
	maxTokens int
	window    int64
	compactAt float64

	planModel string           // that answers in plan mode; "" if the same does
	questions *sched.Questions // that Person is asked; nil if there is none
}

// here names a front end.
func (o *TalkOptions) here() string {
	switch {
	case o.Here != "":
		return o.Here
	case o.ByProgram:
		return "the program"
	}
	return "the terminal"
}

// starting is for how long a start may take what it has read of skills, commands and agents
// for what their files say.
const starting = 2 * time.Second

// settle is when the list of files is made: the first request must not wait for it, and the
// first search should not have to.
const settle = 300 * time.Millisecond
