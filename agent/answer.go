package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// An answer is one message of the model while it arrives, with its calls, which may already
// be running.
type answer struct {
	t         *turn
	model     string // that was asked: prices and limits are under its name
	requested time.Time

	start     model.Start
	blocks    []model.Block // those that are whole
	uuids     []string      // what they are named in the journal
	kept      int           // how many of them are in the journal
	stop      *model.Stop   // nil if it broke off
	committed bool          // it is part of the conversation
	usage     model.Usage

	calls    *sched.Batch             // nil until there is one
	unwatch  func() bool              // lets interrupts no longer reach them
	inputs   map[int]*input           // calls that are being written, by index
	texts    map[int]*strings.Builder // text that is being written
	err      error                    // why it broke off
	journal  bool                     // it was the journal that failed
	nextCall string                   // the name of the call that is about to be opened
}

// An input is that of a call while it arrives.
type input struct {
	*sched.Input // nil for a call through the door until it is complete: its tool is in its input
	uuid         string
	written      bool
}

// read reads an answer. When it returns, complete calls are running.
func (ans *answer) read(ctx context.Context, req *model.Request) {
	t := ans.t
	for ev, err := range t.a.opts.Model.Stream(ctx, req) {
		if err != nil {
			ans.err = err
			break
		}
		if !ans.take(ev) {
			break
		}
		t.a.out.room(ctx)
	}
	if ans.stop == nil && ans.err == nil {
		ans.err = &model.Error{Kind: model.ConnectionLost, Message: "the model's answer broke off"}
	}
	ans.discardCalls()
	if ans.calls != nil {
		ans.calls.End()
	}
}

// take handles one event, and reports whether to continue.
func (ans *answer) take(ev model.Event) bool {
	out := ans.t.a.out
	switch ev := ev.(type) {
	case model.Retry:
		out.put(Retrying{ev})
		return true
	case model.Fallback:
		out.put(FellBack{ev})
		ans.model = ev.To
		ans.t.a.changeModel(func(s *settings) { s.model = ev.To })
		return true
	case model.Adjusted:
		ans.t.a.adjusted(ev)
		return true
	case model.Start:
		return ans.begin(ev)
	case model.BlockStart:
		return ans.named(ev)
	case model.Delta:
		ans.write(ev)
	case model.BlockStop:
		ans.t.a.naming.close(ev.Index, &ev.Block)
		return ans.close(ev)
	case model.Stop:
		ans.stop, ans.usage = &ev, ev.Usage
	}
	out.put(Streamed{Event: ev})
	return true
}

// begin starts the answer, or restarts it if nothing of it took effect.
func (ans *answer) begin(ev model.Start) bool {
	if ans.kept > 0 {
		ans.err = &model.Error{Kind: model.ConnectionLost, Message: "the model's answer broke off"}
		return false
	}
	ans.retract()
	ans.discardCalls()
	ans.t.a.naming.begin()
	clear(ans.texts)
	ans.spend()
	ans.start, ans.usage = ev, ev.Usage
	ttft := time.Since(ans.requested)
	if ans.t.res.TTFT == nil {
		ans.t.res.TTFT = &ttft
	}
	ans.t.a.out.put(Streamed{Event: ev, TTFT: ttft})
	return true
}

// discardCalls drops incomplete calls.
func (ans *answer) discardCalls() {
	for _, in := range ans.inputs {
		if in.Input != nil {
			in.Discard()
		}
	}
	clear(ans.inputs)
}

// named opens a block under a name that can be sent back.
func (ans *answer) named(ev model.BlockStart) bool {
	ans.t.a.naming.open(ev.Index, &ev.Block)
	ans.open(ev)
	ans.t.a.out.put(Streamed{Event: ev})
	return true
}

func (ans *answer) open(ev model.BlockStart) {
	switch ev.Block.Type {
	case model.ToolUse:
		if ans.calls == nil {
			ans.startCalls()
		}
		ans.nextCall = session.NewUUID()
		in := &input{uuid: ans.nextCall}
		if ev.Block.Name != tool.DoorName {
			in.Input = ans.calls.Open(ev.Block.ID, ev.Block.Name)
		}
		ans.inputs[ev.Index] = in
	case model.Text:
		ans.texts[ev.Index] = new(strings.Builder)
	}
}

// startCalls starts the batch of the answer's calls. Calls have the ids of their journal
// entries.
func (ans *answer) startCalls() {
	t := ans.t
	ans.calls = t.calls.Start(t.ctx, &sched.BatchOptions{
		Tools: t.tools, Agent: t.a.opts.Agent, Repeats: t.repeats,
		CallID: func(int) string { return ans.nextCall },
		Limit:  t.a.resultLimit(ans.model), Shown: t.a.shown,
	})
	t.arriving = ans
	ans.unwatch = context.AfterFunc(t.asking, func() { ans.calls.Interrupt(context.Cause(t.asking)) })
}

func (ans *answer) write(ev model.Delta) {
	switch ev.Type {
	case model.InputDelta:
		if in := ans.inputs[ev.Index]; in != nil && in.Input != nil && ev.Text != "" {
			in.written = true
			in.Write([]byte(ev.Text))
		}
	case model.TextDelta:
		if b := ans.texts[ev.Index]; b != nil {
			b.WriteString(ev.Text)
		}
	}
}

// close handles a complete block. If it is a call, it is recorded together with everything
// said before it, and then queued.
func (ans *answer) close(ev model.BlockStop) bool {
	t := ans.t
	delete(ans.texts, ev.Index)
	if blank(ev.Block) {
		t.a.out.put(Streamed{Event: ev})
		return true
	}
	in := ans.inputs[ev.Index]
	uuid := session.NewUUID()
	if in != nil {
		uuid = in.uuid
		ev.Block.Input = object(ev.Block.Input)
	}
	ans.blocks, ans.uuids = append(ans.blocks, ev.Block), append(ans.uuids, uuid)
	if in != nil {
		if ans.err = ans.keep(len(ans.blocks)); ans.err != nil {
			ans.blocks, ans.uuids = ans.blocks[:len(ans.blocks)-1], ans.uuids[:len(ans.uuids)-1]
			return false
		}
	}
	t.a.out.put(ans.said(len(ans.blocks)-1), Streamed{Event: ev})
	if in != nil {
		delete(ans.inputs, ev.Index)
		ans.queue(in, &ev.Block)
	}
	return true
}

// queue lets a call run that is whole.
func (ans *answer) queue(in *input, b *model.Block) {
	args := b.Input
	if in.Input == nil {
		ans.nextCall = in.uuid
		var name string
		name, args = ans.t.tools.ThroughDoor(b.Name, b.Input)
		in.Input = ans.calls.Open(b.ID, name)
	}
	if !in.written {
		in.Write(args)
	}
	in.Close()
}

// failure returns the model's error that ended the answer; nil if there was none.
func (ans *answer) failure() *model.Error {
	if ans.err == nil || ans.journal {
		return nil
	}
	var e *model.Error
	if errors.As(ans.err, &e) {
		return e
	}
	return &model.Error{Message: ans.err.Error(), Err: ans.err}
}

// interrupted keeps what a user has seen of the last text of a broken answer.
func (ans *answer) interrupted() {
	for _, b := range ans.texts {
		block := model.TextOf(b.String())
		if blank(block) {
			continue
		}
		ans.blocks, ans.uuids = append(ans.blocks, block), append(ans.uuids, session.NewUUID())
		said := ans.said(len(ans.blocks) - 1)
		said.Aborted = true
		ans.t.a.out.put(said)
	}
	clear(ans.texts)
}

func (ans *answer) said(i int) Said {
	return Said{UUID: ans.uuids[i], MessageID: ans.start.ID, Model: ans.start.Model, Block: ans.blocks[i], Usage: ans.usage, Agent: ans.t.a.opts.Agent}
}

// keep writes the first n blocks down.
func (ans *answer) keep(n int) error {
	var entries []session.Entry
	for i := ans.kept; i < n; i++ {
		entries = append(entries, ans.entry(ans.uuids[i], ans.blocks[i:i+1:i+1]))
	}
	if entries == nil && ans.stop != nil && n > 0 { // the calls before it did not know how it ends
		entries = append(entries, ans.entry("", nil))
	}
	if entries == nil {
		return nil
	}
	if err := ans.t.journal.Append(ans.t.lasting, entries...); err != nil {
		ans.journal = true
		return fmt.Errorf("save the answer: %w", err)
	}
	ans.kept = n
	return nil
}

func (ans *answer) entry(uuid string, blocks []model.Block) session.Entry {
	m := &session.Message{Role: model.Assistant, Content: blocks, ID: ans.start.ID, Model: ans.start.Model, Usage: ans.usage}
	if ans.stop != nil {
		m.StopReason = ans.stop.Reason
	}
	return session.Entry{UUID: uuid, Agent: ans.t.a.opts.Agent, Message: m}
}

// retract takes back what was said and is not in the journal.
func (ans *answer) retract() {
	if ans.kept == len(ans.blocks) {
		return
	}
	ans.t.a.out.put(Retracted{MessageID: ans.start.ID, UUIDs: ans.uuids[ans.kept:]})
	ans.blocks, ans.uuids = ans.blocks[:ans.kept], ans.uuids[:ans.kept]
}

// unfinished reports whether an answer cannot end with a block: with a thought or, if it
// broke off, with one of the provider's own calls whose result did not arrive.
func (ans *answer) unfinished(last model.Block) bool {
	return thought(last) || ans.stop == nil && (last.Type == "server_tool_use" || last.Type == "mcp_tool_use")
}

// commit adds the complete part of the answer to the conversation. It reports whether there
// was any.
func (ans *answer) commit() (bool, error) {
	t := ans.t
	whole := len(ans.blocks)
	for whole > ans.kept && ans.unfinished(ans.blocks[whole-1]) {
		whole--
	}
	failed := ans.keep(whole)
	ans.retract()
	ans.committed = true
	ans.spend()
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	said, err := t.a.talk.answer(ans.blocks)
	if ans.stop != nil {
		t.a.ledger.answered(ans.usage)
	} else {
		t.a.ledger.add(ans.blocks...)
	}
	return said, errors.Join(failed, err)
}

// spend records the cost of the answer, whatever happens to it.
func (ans *answer) spend() {
	if ans.usage == (model.Usage{}) {
		return
	}
	t := ans.t
	t.res.Usage = t.res.Usage.Add(ans.usage)
	t.a.mu.Lock()
	t.a.ledger.spent(ans.model, ans.usage)
	t.a.mu.Unlock()
	if name := ans.start.Model; name != "" && name != ans.model {
		t.a.noteOnce(StateAsked+name, ans.model)
	}
}

// salvage handles an answer after a crash in the middle of it: calls that ran have run, and
// the conversation must say so.
func (ans *answer) salvage() {
	defer func() {
		if p := recover(); p != nil { // what crashed once may do so again
			ans.t.res.Errors = append(ans.t.res.Errors, fmt.Sprint("and again: ", p))
		}
	}()
	ans.discardCalls()
	ans.calls.End()
	if !ans.committed {
		ans.retract()
		_, _ = ans.commit() // what could not be written down is not in the conversation
	}
	for out := range ans.calls.Outcomes() {
		ans.t.hear(session.ResultBlock(out))
	}
}
