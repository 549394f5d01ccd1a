package harness

import (
	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/world/shellrun"
)

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
