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
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

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
	// Dir is the folder that the tool works in: only files that the tool names may change
	// there. "" watches the folders of the files that it names.
	Dir string
}

// Patience is how long a tool may take to return after it was cancelled, and a
// valid input to run.
const (
	cancelPatience = 2 * time.Second
	runPatience    = 30 * time.Second
)

// Run runs the suite. It must not run in parallel to tests that start goroutines.
func Run(t *testing.T, s Subject) {
	t.Helper()
	if s.Session == nil {
		s.Session = new(tool.Session)
	}
	if err := s.Tool.Check(); err != nil {
		t.Fatalf("the tool is wrongly built: %v", err)
	}
	if s.Tools == nil {
		s.Tools = tool.NewSet(s.Session, []tool.Tool{s.Tool}, nil, nil)
	}
	if len(s.Valid) == 0 {
		t.Fatal("the subject has no valid input: the suite could not fail")
	}
	t.Run("the words for the model are there", s.words)
	t.Run("the schema is valid, strict and stable", s.schema)
	t.Run("valid input is accepted as it is", s.accepts)
	t.Run("marks do not contradict each other", s.marks)
	t.Run("bad input never panics", s.survives)
	t.Run("results are what they promise", s.results)
	t.Run("what it changes is what it says", s.files)
	t.Run("safe calls run beside each other", s.concurrent)
	t.Run("cancellation is honoured", s.cancels)
}

// call returns a call with the input as the pipeline would give it.
func (s *Subject) call(t *testing.T, in string) *tool.Call {
	t.Helper()
	fixed, _, err := s.Tools.View(&s.Tool).Check([]byte(in))
	if err != nil {
		t.Fatalf("input %s: %v", in, err)
	}
	return &tool.Call{ID: "call-0", UseID: "toolu_test", Tool: s.Tool.Name, Input: fixed, Session: s.Session, Tools: s.Tools}
}

func (s *Subject) reset(t *testing.T) {
	if s.Reset != nil {
		s.Reset(t)
	}
}

// run runs one input to its end, within the patience of the suite.
func (s *Subject) run(ctx context.Context, c *tool.Call, patience time.Duration) (r tool.Result, err error, returned bool) {
	type end struct {
		r   tool.Result
		err error
	}
	done := make(chan end, 1)
	go func() {
		e := end{err: errors.New("Run ended without returning")}
		defer func() {
			if p := recover(); p != nil {
				e.err = fmt.Errorf("Run panicked: %v", p)
			}
			done <- e
		}()
		e.r, e.err = s.Tool.Run(ctx, c)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case e := <-done:
		return e.r, e.err, true
	case <-timer.C:
		return tool.Result{}, nil, false
	}
}
