package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// Options configure an [Agent]. Only Model and ModelName must be set.
type Options struct {
	// Model answers, under the name ModelName.
	Model     model.Model
	ModelName string
	// PlanModel is the name of the model that answers in plan mode; "" means ModelName, as
	// long as no other is chosen.
	PlanModel string
	// Resolve returns the provider's name for a model that a skill or command names, or an
	// error that says why it cannot be used; nil uses names unchanged.
	Resolve func(name string) (string, error)
	// System is the system prompt; see package internal/harness/sysprompt/prompt. It stays the same for the
	// whole conversation.
	System []model.System
	// Facts returns what the model is told at the beginning of a turn in addition to the
	// prompt; nil means nothing. First asks for everything, because the model knows nothing
	// yet or has forgotten it; otherwise only changes are needed.
	Facts func(ctx context.Context, first bool) []string
	// News returns what the model is told after its calls, because of what they did; nil
	// means nothing.
	News func(context.Context) []string
	// Carry returns what a compaction must not lose: the plan, the to-dos, what was read
	// last; nil means nothing.
	Carry func() []string

	// Tools are those of the first turn; nil means none.
	Tools *tool.Set
	// Sched is the pipeline for calls. The agent adds its own feed, and the journal after
	// any existing recorder.
	Sched sched.Options
	// Person is asked about calls that the rules leave open, in addition to the askers of
	// Sched; nil means no one.
	Person sched.Asker
	// Repeats configures when the model counts as going in circles.
	Repeats sched.RepeatLimits
	// Permissions applies changes of modes and rules; nil means that neither can be
	// changed. Mode is the initial mode.
	Permissions Permissions
	Mode        string
	// Busy, if not nil, is called when a turn begins, which fails with its error, and when
	// nothing is queued any more.
	Busy func(ctx context.Context, busy bool) error
	// Hooks see prompts and the ends of turns; nil means none. Hooks that see calls are in
	// Sched.
	Hooks Hooks

	// Journal records everything before it takes effect; nil keeps the conversation in
	// memory only.
	Journal Journal
	// History is the conversation so far; nil means a new one. HistoryTokens is what the
	// provider counted at its end; 0 means that it is not known.
	History       *model.History
	HistoryTokens int64
	// Revealed are the deferred tools that the model has found in it. Refused are images
	// and documents in it that the API has refused, with their replacement texts, by the
	// digest under which [StateRefused] names them.
	Revealed []string
	Refused  map[string]string
	// Spent is what its answers have used, and Beside is what was used for anything else, both
	// by model.
	Spent, Beside map[string]model.Usage
	// States are further values that a resumed session needs, by name. They are recorded with
	// the first prompt.
	States map[string]any
	// Source says how the session began, for hooks: "" means startup.
	Source string
	// Renew returns the journal of the session that follows when the conversation is
	// cleared; nil means that the same one continues.
	Renew func(context.Context) (Journal, error)

	// Limits bound a turn.
	Limits Limits
	// Context says when the conversation is compacted.
	Context Context
	// Thinking, Effort, TaskBudget, Betas and MaxTokens are those of a [model.Request].
	Thinking   *model.ThinkingOptions
	Effort     string
	TaskBudget int
	Betas      []string
	MaxTokens  int
	// Cost returns the price of a usage in dollars, if known; nil means that no price is
	// known.
	Cost func(model string, u model.Usage) (usd float64, known bool)
	// Structured is the JSON Schema of the answer that a turn must end with; nil means
	// text.
	Structured json.RawMessage

	// Agent names the conversation if it is a sub-agent's, AgentType says of which type; ""
	// is the main one.
	Agent, AgentType string
}

// Limits bound a turn. A zero value means no limit.
type Limits struct {
	// Turns is how many requests may be made to the model. The calls of the last one still
	// run.
	Turns int
	// BudgetUSD is what the session may cost, counted from the last resume.
	BudgetUSD float64
	// Time is how long a turn may take.
	Time time.Duration
}

// Context bounds the length of the conversation.
type Context struct {
	// Window returns the context size of a model in tokens; nil means 200,000 for all.
	Window func(model string) int64
	// Media returns how many images, and how many pages of documents, a request to a model
	// may have; nil means 100 for all.
	Media func(model string) int
	// CompactAt is the share of the window from which the conversation is compacted
	// automatically; 0 means 0.8, a negative number never.
	CompactAt float64
}

// Hooks are the user's programs that run at fixed points; *[hook.Runner] implements it.
type Hooks interface {
	Fire(ctx context.Context, agent string, d hook.Detail) hook.Outcome
}

// Permissions is what the loop may change about permissions. It must be safe for concurrent
// use.
type Permissions interface {
	// SetMode changes the mode, or returns an error if there is no mode of that name.
	SetMode(mode string) error
	// Allow adds rules until the returned function is called.
	Allow(rules []string) (undo func(), err error)
}

// A Journal records a session; *[session.Session] implements it. It must be safe for
// concurrent use.
type Journal interface {
	// ID names the session.
	ID() string
	// Append records entries. When it returns, they are part of the session.
	Append(context.Context, ...session.Entry) error
	// Record records a step of a call, including the result of a finished one.
	sched.Recorder
}
