package harness

import (
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/internal/world/shellrun"
)

func (c *Conversation) todosChanged(name string, items []todo.Item) {
	if name == "" {
		c.World.link.Emit(agent.Changed{What: agent.Todos, Value: items})
	}
	c.World.link.Save(stateTodos+name, items)
}

// WorkList is the work to do, as [agent.Changed] reports it: the tasks of the session, or
// the to-dos of the main agent.
func (c *Conversation) WorkList() any {
	if store := c.pool.builtins.Tasks; store != nil {
		if list, err := store.Load(); err == nil && len(list.Tasks) > 0 {
			return list.Tasks
		}
	}
	return c.pool.builtins.Todos.Items("")
}

// tasksChanged shows the tasks; their file is their memory.
func (c *Conversation) tasksChanged(l task.List) {
	c.World.link.Emit(agent.Changed{What: agent.Tasks, Value: l.Tasks})
}

// agreed keeps the plan that the user has agreed to.
func (c *Conversation) agreed(plan string) {
	c.plan.Store(&plan)
	c.World.link.Save(statePlan, plan)
}

// planName is the file in a session's folder in which its model may write a plan.
const planName = "plan.md"

// Names under which a session stores what is not in its messages.
const (
	stateTodos  = "todos"  // followed by the sub-agent whose they are
	stateAgents = "agents" // who was at work

	stateSchedule = "schedule" // what it is sent later
	stateCommands = "commands" // in the background, still running
	stateNotes    = "notes"    // that the model has not been told yet

	stateKept     = "kept"     // the folders with what it kept for its model
	statePlan     = "plan"     // the last one that the user agreed to
	stateProvider = "provider" // who answered when it began
	stateLead     = "lead"     // the agent that leads it
)

// ended tells the model that a background command has ended. A command that an agent
// started is reported to that agent, and ends with it.
func (w *World) ended(t *shellrun.Task) {
	w.running.ended(t)
	a := w.link.Agent()
	if a == nil {
		return
	}
	task := command(t)
	task.Ended = time.Now()
	word, sentence := bash.Ending(t)
	task.Status, task.Summary = ends[word], sentence
	switch {
	case t.Owner() != "":
		w.Crew.Notify(t.Owner(), task)
		a.Emit(agent.TaskChanged{Change: "ended", Task: task})
	case task.Status == "stopped": // whoever stopped it knows
		a.Emit(agent.TaskChanged{Change: "ended", Task: task})
	default:
		a.Notify(task)
	}
}

// heard withdraws the report of a command's end, if an agent already knows it from a
// result.
func (w *World) heard(owner, id string) {
	if a := w.link.Agent(); owner == "" && a != nil {
		a.Heard(id)
	}
	w.Crew.Heard(owner, id)
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
