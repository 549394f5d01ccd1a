package harness

import (
	"context"
	"encoding/json"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool/bash"
	"github.com/haftdev/haft/tool/task"
	"github.com/haftdev/haft/tool/todo"
)

// emit tells the conversation what happens beside it; without one nobody is told,
// except of what a person should know.
func (w *World) emit(ev agent.Event) {
	if n, ok := ev.(agent.Notice); ok {
		w.notice(n)
		return
	}
	if a := w.talk.Load(); a != nil {
		a.Emit(ev)
	}
}

// told tells the person what is wrong with what they wrote for models.
func (w *World) told(problems []knowledge.Problem) {
	for _, p := range problems {
		w.warn("knowledge", p.String())
	}
}

func (w *World) todosChanged(name string, items []todo.Item) {
	if name == "" {
		w.emit(agent.Changed{What: agent.Todos, Value: items})
	}
	w.save(stateTodos+name, items)
}

// tasksChanged shows the tasks; their file is their memory.
func (w *World) tasksChanged(l task.List) { w.emit(agent.Changed{What: agent.Tasks, Value: l.Tasks}) }

// agreed keeps the plan that the person has agreed to.
func (w *World) agreed(plan string) {
	w.plan.Store(&plan)
	w.save(statePlan, plan)
}

// Names under which a session keeps what it is not told by its messages.
const (
	stateTodos  = "todos"  // followed by the sub-agent whose they are
	stateAgents = "agents" // who was at work
	stateCalls  = "calls"  // what MCP servers go on with

	stateKept     = "kept"     // the folders with what it kept for its model
	statePlan     = "plan"     // the last one that the person agreed to
	stateProvider = "provider" // who answered when it began
	stateLead     = "lead"     // the agent that leads it
)

// save writes a state of the session down.
func (w *World) save(name string, value any) {
	c := w.conversation.Load()
	if c == nil {
		return
	}
	raw, err := json.Marshal(value)
	if err == nil {
		err = c.Journal().Append(context.Background(), session.Entry{State: &session.State{Name: name, Value: raw}})
	}
	if err != nil {
		w.warn("session", "Write down the "+name+": "+err.Error())
	}
}

// backgrounded tells that a command goes on beside the turn.
func (w *World) backgrounded(t *shellrun.Task) {
	w.emit(agent.TaskChanged{Change: "started", Task: command(t)})
}

// ended tells the model that a command in the background is over. One that an agent
// has started is the agent's to hear of, and ends with it.
func (w *World) ended(t *shellrun.Task) {
	a := w.talk.Load()
	if a == nil {
		return
	}
	task := command(t)
	task.Ended = time.Now()
	word, sentence := bash.Ending(t)
	task.Status, task.Summary = ends[word], sentence
	switch {
	case t.Owner() != "":
		w.crew.Notify(t.Owner(), task)
		a.Emit(agent.TaskChanged{Change: "ended", Task: task})
	case task.Status == "stopped": // whoever stopped it knows
		a.Emit(agent.TaskChanged{Change: "ended", Task: task})
	default:
		a.Notify(task)
	}
}

// ends are how commands end, as the wire spells it.
var ends = map[string]string{"completed": "completed", "failed": "failed", "killed": "stopped"}

// command is a command in the background as front ends see it.
func command(t *shellrun.Task) agent.Task {
	about := t.Description()
	if about == "" {
		about = t.Command()
	}
	return agent.Task{
		ID: t.ID(), UseID: t.Tag(), Type: "local_bash", Description: about, Status: "running", Background: true,
		OutputFile: t.Output().Path(), Started: t.Started(),
	}
}
