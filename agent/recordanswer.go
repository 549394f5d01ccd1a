package agent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

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

// answered notes how full the context is after an answer.
func (l *ledger) answered(u model.Usage) {
	if full := u.Context(); full > 0 {
		l.known, l.heard, l.counted = full, 0, true
	}
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

// noteOnce is note for what may be noted already.
func (a *Agent) noteOnce(name, value string) {
	a.mu.Lock()
	known := string(a.noted.known[name])
	a.mu.Unlock()
	if raw, err := json.Marshal(value); err != nil || known != string(raw) {
		a.note(name, value)
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
