package agent

import (
	"context"
	"errors"
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

func (t *turn) newAnswer(model string) *answer {
	t.a.naming.next()
	return &answer{t: t, model: model, requested: time.Now(), inputs: map[int]*input{}, texts: map[int]*strings.Builder{}}
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
