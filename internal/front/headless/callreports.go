package headless

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// callReports report the states of calls and their progress. A state is sent at once. Progress is
// sent a few times a second for each call; of what comes between, the newest is kept. It is safe
// for concurrent use.
type callReports struct {
	send func(*wire.ToolProgress)

	mu    sync.Mutex
	calls map[string]*callReport
}

// A callReport is what is known of one call.
type callReport struct {
	newest wire.ToolProgress
	began  time.Time   // when it became executing
	next   *time.Timer // sends the newest; nil if progress can be sent at once
	unsent bool
	open   bool // a user is asked about it; what comes late of its other states does not count
}

const (
	reportTime = 250 * time.Millisecond // between two reports of the progress of a call
	reportSize = 8 << 10                // bytes of a report of progress
)

func newCallReports(send func(*wire.ToolProgress)) *callReports {
	return &callReports{send: send, calls: make(map[string]*callReport)}
}

// entered reports a new state of a call.
func (r *callReports) entered(ev sched.Event, state string, parent wire.NullString) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[ev.CallID]
	if c == nil {
		c = &callReport{newest: wire.ToolProgress{ToolUseID: ev.UseID, ToolName: ev.Tool, ParentToolUseID: parent, AgentID: ev.Agent}}
		r.calls[ev.CallID] = c
		if state == wire.CallAsked { // the question has overtaken the state before it
			c.newest.State = wire.CallQueued
			r.report(c)
		}
	}
	if c.newest.State == state || c.open {
		return
	}
	c.open = state == wire.CallAsked
	if state == wire.CallExecuting && c.began.IsZero() {
		c.began = time.Now()
	}
	c.newest.State = state
	r.report(c)
}

// answered reports that no one is asked about a call any more.
func (r *callReports) answered(callID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[callID]
	if c == nil || !c.open {
		return
	}
	c.open, c.newest.State = false, wire.CallExecuting
	if c.began.IsZero() {
		c.began = time.Now()
	}
	r.report(c)
}

// advanced reports the progress of a call.
func (r *callReports) advanced(ev sched.Event, parent wire.NullString) {
	progress := encodeProgress(ev.Progress)
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[ev.CallID]
	if c == nil { // a call of a sub-agent, whose states are not told
		c = &callReport{newest: wire.ToolProgress{ToolUseID: ev.UseID, ToolName: ev.Tool, ParentToolUseID: parent, AgentID: ev.Agent}, began: time.Now()}
		r.calls[ev.CallID] = c
	}
	c.newest.State, c.newest.Progress = wire.CallExecuting, progress
	if c.unsent = c.next != nil; !c.unsent {
		r.report(c)
		c.next = time.AfterFunc(reportTime, func() { r.due(c) })
	}
}

// due sends what has come since the last report.
func (r *callReports) due(c *callReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case c.next == nil: // it has ended
	case !c.unsent:
		c.next = nil
	default:
		c.unsent = false
		r.report(c)
		c.next.Reset(reportTime)
	}
}

// report sends the newest state of a call.
func (r *callReports) report(c *callReport) {
	m := c.newest
	if !c.began.IsZero() {
		m.ElapsedTimeSeconds = time.Since(c.began).Seconds()
	}
	r.send(&m)
}

// ended reports that a call has its result.
func (r *callReports) ended(callID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[callID]
	if c == nil {
		return
	}
	delete(r.calls, callID)
	if c.next != nil {
		c.next.Stop()
		c.next = nil
	}
	c.newest.State, c.newest.Progress = wire.CallCompleted, nil
	r.report(c)
}

// current are reports about the calls that have no result yet, for someone who joins.
func (r *callReports) current() (all []*wire.ToolProgress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		m := c.newest
		if !c.began.IsZero() {
			m.ElapsedTimeSeconds = time.Since(c.began).Seconds()
		}
		all = append(all, &m)
	}
	return all
}

// encodeProgress is progress as an object with its type. A report that is too large becomes its
// last line.
func encodeProgress(p tool.Progress) json.RawMessage {
	switch report := p.(type) {
	case tool.BashProgress:
		report.Output = tail(report.Output)
		p = report
	case tool.EvalProgress:
		report.Output = tail(report.Output)
		p = report
	}
	raw, err := json.Marshal(p)
	var object map[string]json.RawMessage
	if err != nil || len(raw) > 2*reportSize || json.Unmarshal(raw, &object) != nil || object == nil {
		object = map[string]json.RawMessage{"text": mustJSON(tail(tool.ProgressLine(p)))}
	}
	object["type"] = mustJSON(p.ProgressType())
	return mustJSON(object)
}

// ProgressLine is what a report says of a call's progress, in one line; "" if it says nothing.
func ProgressLine(m *wire.ToolProgress) string {
	var p struct {
		Text, Message, Activity, Query, Output string
		Progress, Total                        float64
	}
	if json.Unmarshal(m.Progress, &p) != nil {
		return ""
	}
	if p.Message == "" && p.Progress > 0 {
		p.Message = fmt.Sprintf("%g", p.Progress)
		if p.Total > 0 {
			p.Message += fmt.Sprintf(" of %g", p.Total)
		}
	}
	return cmp.Or(p.Text, p.Message, p.Activity, p.Query, tool.ProgressLine(tool.EvalProgress{Output: p.Output}))
}

// tail is the end of a long text.
func tail(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-reportSize):], "")
}
