package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// An Agent is a conversation with a model that can call tools.
type Agent struct {
	opts Options
	form *answerForm // of a structured answer; nil if it is text
	out  *outbox
	work chan struct{} // holds a token when the queue or the tasks may have changed

	mu       sync.Mutex
	running  bool // someone ranges over Run
	turn     *turn
	queue    []Prompt
	tasks    map[string]Task // those that run in the background
	heard    map[string]bool // tasks whose end the model knows from a result
	holds    int             // what else keeps Run waiting
	prompt   string          // the last one of a turn
	set      settings
	revealed []string          // deferred tools that the model has found
	refused  map[string]string // media that an API has refused, with their replacement texts, by digest
	journal  Journal
	talk     conversation // only the turn changes it
	naming   naming       // likewise
	ledger   ledger
	noted    states

	// These belong to the turn that runs.
	started bool            // the session's first turn has begun
	source  string          // how it began
	fresh   bool            // the model knows no facts yet, or has forgotten them
	named   map[string]bool // deferred tools whose names the model knows, and news of others
	told    map[string]bool // notices that are given once
}

// settings are what may change between two requests.
type settings struct {
	model    string
	own      string // the model to go back to when the turn ends; "" if it stays
	mode     string
	thinking *model.ThinkingOptions
	effort   string
	tools    *tool.Set
}

// New returns an agent. It starts nothing and is cheap.
func New(opts *Options) (*Agent, error) {
	if opts == nil || opts.Model == nil || opts.ModelName == "" {
		return nil, errors.New("new agent: Model and ModelName must be set")
	}
	a := &Agent{
		opts: *opts, out: newOutbox(), work: make(chan struct{}, 1),
		named: map[string]bool{}, told: map[string]bool{}, journal: opts.Journal, fresh: true, source: cmp.Or(opts.Source, "startup"),
		revealed: slices.Clone(opts.Revealed), refused: maps.Clone(opts.Refused), noted: states{known: map[string]json.RawMessage{}, waiting: map[string]bool{}},
	}
	if a.journal == nil {
		a.journal = session.Memory("")
	}
	a.set = settings{model: opts.ModelName, mode: opts.Mode, thinking: opts.Thinking, effort: opts.Effort}
	if opts.History != nil {
		if err := a.talk.load(opts.History); err != nil {
			return nil, err
		}
		a.talk.withoutRefused(a.refused)
		a.talk.heedMedia(a.mediaLimit(opts.ModelName))
	}
	if opts.Structured != nil {
		var err error
		if a.form, err = newAnswerForm(opts.Structured); err != nil {
			return nil, err
		}
	}
	if err := a.useTools(opts.Tools); err != nil {
		return nil, err
	}
	a.ledger = newLedger(&a.opts)
	for name, value := range opts.States {
		a.note(name, value)
	}
	a.naming.load(opts.History)
	a.recallNames(opts.History)
	if opts.History != nil {
		a.noted.begun = opts.History.Len() > 0
		a.ledger.restart(cmp.Or(opts.HistoryTokens, tokensOf(opts.History.Size())))
		a.ledger.counted = opts.HistoryTokens > 0
	}
	return a, nil
}

// Send queues a prompt. If nothing ranges over Run, the next Run handles it.
func (a *Agent) Send(p Prompt) {
	if p.UUID == "" {
		p.UUID = session.NewUUID()
	}
	a.mu.Lock()
	a.queue = append(a.queue, p)
	a.mu.Unlock()
	signal(a.work)
}

// Compact queues a compaction of the conversation. Instructions say what the summary should
// focus on.
func (a *Agent) Compact(instructions string) { a.CompactAs("", instructions) }

// CompactAs is like Compact, with a name that its result gives as the UUID of its prompt; ""
// lets the agent choose one.
func (a *Agent) CompactAs(uuid, instructions string) {
	a.Send(Prompt{UUID: uuid, command: "compact", Priority: Later, Content: []model.Block{model.TextOf(instructions)}})
}

// Clear queues a reset of the conversation: the model forgets it.
func (a *Agent) Clear() { a.ClearAs("") }

// ClearAs is like Clear, with a name as for CompactAs.
func (a *Agent) ClearAs(uuid string) { a.Send(Prompt{UUID: uuid, command: "clear", Priority: Later}) }

// Queued returns the queued prompts.
func (a *Agent) Queued() []Prompt {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.queue)
}

// Busy reports whether a turn is running or queued.
func (a *Agent) Busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn != nil || len(a.queue) > 0
}

// Withdraw takes a prompt out of the queue, and reports whether it was there.
func (a *Agent) Withdraw(uuid string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.queue)
	a.queue = slices.DeleteFunc(a.queue, func(p Prompt) bool { return p.UUID == uuid })
	return len(a.queue) < before
}

// Interrupt stops the running turn, as a user would, and reports whether there was one. Queued
// prompts are handled next. For each cancelled call, the model is told why; "" means that the
// user stopped it.
func (a *Agent) Interrupt(why string) bool {
	a.mu.Lock()
	t := a.turn
	a.mu.Unlock()
	if t == nil {
		return false
	}
	t.stop(&interruption{why})
	return true
}

// InterruptPrompt stops the running turn if it is the one of this prompt, and reports whether it
// is. The turn of another prompt continues.
func (a *Agent) InterruptPrompt(uuid string) bool {
	a.mu.Lock()
	t, meant := a.turn, a.answersLocked(uuid)
	a.mu.Unlock()
	if meant {
		t.stop(&interruption{}) // which does nothing to the next turn
	}
	return meant
}

// Answers reports whether the running turn is the one of this prompt, which began it or joined it.
func (a *Agent) Answers(uuid string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answersLocked(uuid)
}

func (a *Agent) answersLocked(uuid string) bool {
	return a.turn != nil && slices.Contains(a.turn.prompts, uuid)
}

// Emit puts an event into the stream that Run returns. Parts outside the loop report with
// it: to-dos, tasks, hooks, notices. It may be called at any time; unread events wait for
// the next Run.
func (a *Agent) Emit(ev Event) {
	a.out.put(ev)
	if t, ok := ev.(TaskChanged); ok {
		a.track(t.Task) // afterwards: the end of the last task may end Run
	}
}

// Unread returns the events that no Run has delivered, such as those at the end of the
// session.
func (a *Agent) Unread() []Event {
	var events []Event
	for ev, ok := a.out.take(); ok; ev, ok = a.out.take() {
		events = append(events, ev)
	}
	return events
}

// Close tells the hooks that the session ends; reason is clear, logout, exit…. It is called
// once, when no Run is running, and does nothing for a sub-agent.
func (a *Agent) Close(ctx context.Context, reason string) {
	if a.opts.Agent == "" {
		a.fire(ctx, hook.SessionEnd{Reason: reason})
		a.noteBeside()
	}
}

// fire runs the hooks of an event, if there are any.
func (a *Agent) fire(ctx context.Context, d hook.Detail) hook.Outcome {
	if a.opts.Hooks == nil {
		return hook.Outcome{}
	}
	return a.opts.Hooks.Fire(ctx, a.opts.Agent, d)
}

// Session names the session that the conversation belongs to.
func (a *Agent) Session() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.journal.ID()
}

// Prompt is the id of the last prompt that the model was sent, or is about to be; "" if there
// was none.
func (a *Agent) Prompt() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.prompt
}
