package sched

import (
	"time"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

// An Outcome is the end of a call: what the model is told, and the record.
type Outcome struct {
	// CallID is the journal's id of the call, UseID the provider's.
	CallID, UseID string
	// Tool is the tool's name, or the name the model used if there is no such tool.
	Tool string
	// Input is what ran, or what would have: after repairs, hooks and approval.
	Input []byte
	// Agent names the sub-agent that called; "" is the main conversation.
	Agent  string
	Status Status
	// Code is the result of the tool's own check of an Invalid call, for programs. Its
	// meaning is up to the tool; 0 means none.
	Code int
	// Result is what the model reads, bounded. It is there for every status.
	Result tool.Result
	// Repairs are the changes made to the input so that it fits its schema.
	Repairs []schema.Repair
	// Verdict decided whether the call may run; zero if there was none.
	Verdict tool.Verdict
	// Notes are for the model, in addition to the result: what hooks added.
	Notes []string
	// Kept is set if the result was too long.
	Kept *tool.Kept
	// Fatal ends the turn: the tool could not do its work, for a reason that is not for the
	// model. The model still gets a result.
	Fatal error
	// Stop ends the turn without an error; it says why.
	Stop string
	// Stack is where the tool panicked.
	Stack []byte
	// Started and Ended are when Run started and ended; zero if it was not called.
	Started, Ended time.Time
}

// Status is how a call ended.
type Status int

const (
	// Succeeded calls ran and did what was asked.
	Succeeded Status = iota
	// Failed calls ran without success; their result tells the model why.
	Failed
	// Unknown calls named no tool of the set.
	Unknown
	// Invalid calls had an input that could not be used; nothing ran.
	Invalid
	// Denied calls were not allowed; nothing ran.
	Denied
	// Cancelled calls were stopped before or while they ran.
	Cancelled
)

var statusNames = [...]string{"succeeded", "failed", "unknown", "invalid", "denied", "cancelled"}

func (s Status) String() string { return statusNames[s] }

// IsError reports whether the model is told that the call failed.
func (o *Outcome) IsError() bool { return o.Status != Succeeded }

// Ran reports whether the tool was started.
func (o *Outcome) Ran() bool { return !o.Started.IsZero() }
