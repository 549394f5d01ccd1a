package sched

import (
	"github.com/haftdev/haft/tool"
)

// A DryRunResult is the expected outcome of a call.
type DryRunResult struct {
	// Verdict is what the rules and the tool say; zero if the call would not get that far.
	// An Ask stays an Ask, because no one was asked.
	Verdict tool.Verdict
	// Refused is the outcome of a call that would get no verdict: there is no such tool,
	// its input cannot be used, or something crashed.
	Refused *Outcome
	// Problem is what the tool's own check finds wrong with the call now. That may be
	// different when the call is made: a file may have been read by then.
	Problem *tool.Problem
	// Call is what would run, including repairs and changes by the tool or the judge.
	Call *tool.Call
}
