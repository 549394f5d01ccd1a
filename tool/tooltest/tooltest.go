// Package tooltest is a conformance suite that any tool must pass, ours or
// yours:
//
//	func TestWeather(t *testing.T) {
//		tooltest.Run(t, tooltest.Subject{
//			Tool:  weather.New(),
//			Valid: []string{`{"city":"Ulm"}`},
//			Slow:  `{"city":"Ulm","watch":true}`,
//		})
//	}
//
// It checks the tool against the contract of package tool: the schema is valid, stable and
// strict, marks do not contradict each other, bad input is refused and never panics, results
// are what the schema promises, a preview changes nothing and shows what Run then does, no
// file is written that Paths does not name, cancellation is honoured in time and nothing is
// left running.
//
// Valid inputs are run, several times, so they must be repeatable in the place
// where the test has put the tool.
package tooltest

import (
	"testing"

	"github.com/haftdev/haft/internal/tools/toolcheck"
	"github.com/haftdev/haft/tool"
)

// A Subject is a tool under test.
type Subject struct {
	Tool tool.Tool
	// Session is what the tool is asked about; nil means no facts.
	Session *tool.Session
	// Tools is the set that calls see; nil means a set of the tool alone.
	Tools *tool.Set
	// Valid are inputs that the tool accepts and can run again and again. At
	// least one is needed.
	Valid []string
	// Slow is an input that takes at least 10 s unless it is cancelled; "" means that there is
	// no such input, for example because the tool only computes.
	Slow string
	// Reset restores the initial state before each run; nil means that this is not needed.
	Reset func(*testing.T)
	// Dir is the folder that the tool works in, the [tool.Call.Dir] of its calls: only files that
	// the tool names may change there. "" watches the folders of the files that it names.
	Dir string
}

// Run runs the suite. It must not run in parallel to tests that start goroutines.
func Run(t *testing.T, s Subject) {
	t.Helper()
	checked := toolcheck.Subject{Tool: s.Tool, Session: s.Session, Tools: s.Tools, Valid: s.Valid, Slow: s.Slow, Dir: s.Dir, Here: true}
	if s.Reset != nil {
		checked.Reset = func(t toolcheck.T) { s.Reset(t.(test).T) }
	}
	toolcheck.Run(test{t}, checked)
}

// test lets a test run the suite.
type test struct{ *testing.T }

// Run runs a part of the suite as a test.
func (t test) Run(name string, part func(toolcheck.T)) {
	t.Helper()
	t.T.Run(name, func(t *testing.T) {
		t.Helper()
		part(test{t})
	})
}
