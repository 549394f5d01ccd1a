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

// Options are what an [Agent] is made of. Only Model and ModelName must be set.
type Options struct {
	// Model answers, under the name ModelName.
	Model     model.Model
	ModelName string
	// PlanModel is the name of the model that answers in plan mode; "" means ModelName, as
	// long as no other is chosen.
	PlanModel string
	// Resolve returns the provider's name of a model that a skill or command names, or
	// says why it cannot be asked; nil takes names as they are.
	Resolve func(name string) (string, error)
	// System is the system prompt; see package agent/prompt. It stays as it is for
	// the whole conversation.
	System []model.System
	// Facts returns what the model is told at the beginning of a turn beside the
	// prompt; nil means nothing. First asks for everything, because the model knows
	// nothing yet or has forgotten it; otherwise only what changed is of interest.
	Facts func(ctx context.Context, first bool) []string
	// News returns what the model is told after its calls, because of what they did; nil means
	// nothing.
	News func(context.Context) []string
	// Carry returns what a compaction must not lose: the plan, the todos, what was
	// read last; nil means nothing.
	Carry func() []string

	// Tools are those of the first turn; nil means none.
	Tools *tool.Set
	// Sched is the way of a call. The agent adds its own feed, and the journal after
	// the recorder that may be there.
	Sched sched.Options
	// Person is asked about calls that the rules leave open, beside the askers of
	// Sched; nil means that there is nobody.
	Person sched.Asker
	// Repeats says when the model goes in circles.
	Repeats sched.RepeatLimits
	// Permissions is what modes and allowances go to; nil means that neither can
	// be changed. Mode is the one that it starts with.
	Permissions Permissions
	Mode        string
	// Hooks see prompts and the ends of turns; nil means none. Those that see calls
	// are in Sched.
	Hooks Hooks

	// Journal is where everything is written down before it counts; nil keeps the
	// conversation in memory only.
	Journal Journal
	// History is the conversation so far; nil means a new one. HistoryTokens is what
	// the provider counted at its end; 0 means that it is not known.
	History       *model.History
	HistoryTokens int64
	// Revealed are the deferred tools that the model has found in it. Refused are images
	// and documents in it that the API has refused, with what is said in their place, by
	// the digest under which [StateRefused] names them.
	Revealed []string
	Refused  map[string]string
	// Spent is what its answers have used, Beside what was used and is in none of
	// them, both by model.
	Spent, Beside map[string]model.Usage
	// States are what else a resumed session needs to know, by name. They are written
	// down with the first prompt.
	States map[string]any
	// Source says how the session began, for hooks: "" means startup.
	Source string
	// Renew returns the journal of the session that follows a clearing of the
	// conversation; nil means that the same one continues.
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
	// Cost returns the price of a usage in dollars, if it is known; nil knows none.
	Cost func(model string, u model.Usage) (usd float64, known bool)
	// Structured is the JSON Schema of the answer that a turn must end with; nil
	// means that it is text.
	Structured json.RawMessage

	// Agent names the conversation if it is that of a sub-agent, AgentType says of
	// which type; "" is the main one.
	Agent, AgentType string
}

// Limits bound a turn. Zero values are no bounds.
type Limits struct {
	// Turns is how many requests are made to the model. The calls of the last one
	// still run.
	Turns int
	// BudgetUSD is what the session may cost, from where it was resumed on.
	BudgetUSD float64
	// Time is how long a turn may take.
	Time time.Duration
}

// Context bounds the length of the conversation.
type Context struct {
	// Window returns how many tokens a model can take in; nil means 200,000 for all.
	Window func(model string) int64
	// Media returns how many images, and how many pages of documents, a request to a model
	// may have; nil means 100 for all.
	Media func(model string) int
	// CompactAt is the share of the window from which on the conversation is
	// compacted by itself; 0 means 0.8, a negative one never.
	CompactAt float64
}

// Hooks are programs of the user's that run at fixed points; *[hook.Runner] is one.
type Hooks interface {
	Fire(ctx context.Context, agent string, d hook.Detail) hook.Outcome
}

// Permissions is what the loop may change of the permissions. It must be safe for
// concurrent use.
type Permissions interface {
	// SetMode changes the mode, or says why there is none of that name.
	SetMode(mode string) error
	// Allow adds rules until the returned function is called.
	Allow(rules []string) (undo func(), err error)
}

// A Journal is the memory of a session; *[session.Session] is one. It must be safe
// for concurrent use.
type Journal interface {
	// ID names the session.
	ID() string
	// Append writes entries down. When it returns they are part of the session.
	Append(context.Context, ...session.Entry) error
	// Record writes a step of a call down, the result of a finished one included.
	sched.Recorder
}
