package agent

import (
	"maps"
	"slices"
	"sync"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// An inbox is what waits for a turn, and the turn that runs. The lock is for all fields of an agent but those of the turn.
type inbox struct {
	work    chan struct{} // holds a token when the queue or the tasks may have changed
	mu      sync.Mutex
	running bool // someone ranges over Run
	turn    *turn
	queue   []Prompt
	tasks   map[string]Task // those that run in the background
	heard   map[string]bool // tasks whose end the model knows from a result
	holds   int             // what else keeps Run waiting
}

// Send queues a prompt. If nothing ranges over Run, the next Run handles it.
func (a *inbox) Send(p Prompt) {
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
func (a *inbox) Compact(instructions string) { a.CompactAs("", instructions) }

// CompactAs is like Compact, with a name that its result gives as the UUID of its prompt; ""
// lets the agent choose one.
func (a *inbox) CompactAs(uuid, instructions string) {
	a.Send(Prompt{UUID: uuid, command: "compact", Priority: Later, Content: []model.Block{model.TextOf(instructions)}})
}

// Clear queues a reset of the conversation: the model forgets it.
func (a *inbox) Clear() { a.ClearAs("") }

// ClearAs is like Clear, with a name as for CompactAs.
func (a *inbox) ClearAs(uuid string) { a.Send(Prompt{UUID: uuid, command: "clear", Priority: Later}) }

// Queued returns the queued prompts.
func (a *inbox) Queued() []Prompt {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.queue)
}

// Busy reports whether a turn is running or queued.
func (a *inbox) Busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn != nil || len(a.queue) > 0
}

// Withdraw takes a prompt out of the queue, and reports whether it was there.
func (a *inbox) Withdraw(uuid string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.queue)
	a.queue = slices.DeleteFunc(a.queue, func(p Prompt) bool { return p.UUID == uuid })
	return len(a.queue) < before
}

// Interrupt stops the running turn, as a user would, and reports whether there was one. Queued
// prompts are handled next. For each cancelled call, the model is told why; "" means that the
// user stopped it.
func (a *inbox) Interrupt(why string) bool {
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
func (a *inbox) InterruptPrompt(uuid string) bool {
	a.mu.Lock()
	t, meant := a.turn, a.answersLocked(uuid)
	a.mu.Unlock()
	if meant {
		t.stop(&interruption{}) // which does nothing to the next turn
	}
	return meant
}

// Answers reports whether the running turn is the one of this prompt, which began it or joined it.
func (a *inbox) Answers(uuid string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answersLocked(uuid)
}

func (a *inbox) answersLocked(uuid string) bool {
	return a.turn != nil && slices.Contains(a.turn.prompts, uuid)
}

// Reconsider makes RunAwaiting ask again which tasks to wait for.
func (a *inbox) Reconsider() { signal(a.work) }

// Hold keeps Run from ending when nothing is queued, until release is called: for a front
// end from which prompts may still come.
func (a *inbox) Hold() (release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holds++
	return sync.OnceFunc(func() {
		a.mu.Lock()
		a.holds--
		a.mu.Unlock()
		signal(a.work)
	})
}

func (a *inbox) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	entered := !a.running
	a.running = true
	return entered
}

func (a *inbox) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = false
}

// awaited reports whether tasks run that will be heard of.
func (a *inbox) awaited() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.tasks) > 0
}

// waits reports whether there is a prompt, or may still be one. A task leaves the list only
// after its end was queued, so that none is missed in between. The front end is asked
// without holding the lock, because it may send while it holds its own.
func (a *inbox) waits(awaits func(Task) bool) bool {
	a.mu.Lock()
	sure, tasks := len(a.queue)+a.holds > 0, slices.Collect(maps.Values(a.tasks))
	a.mu.Unlock()
	return sure || slices.ContainsFunc(tasks, awaits)
}

// track keeps the tasks that may still wake the conversation.
func (a *inbox) track(t Task) {
	a.mu.Lock()
	if t.Background && t.Status == "running" {
		if a.tasks == nil {
			a.tasks = map[string]Task{}
		}
		a.tasks[t.ID] = t
	} else {
		delete(a.tasks, t.ID)
	}
	a.mu.Unlock()
	signal(a.work)
}

// Heard records that a result has told the model about the end of a task. A queued
// notification of it is withdrawn.
func (a *inbox) Heard(task string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.heard == nil {
		a.heard = map[string]bool{}
	}
	a.heard[task] = true
	a.queue = slices.DeleteFunc(a.queue, func(p Prompt) bool { return p.task == task })
}
