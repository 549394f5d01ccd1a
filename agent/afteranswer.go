package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
)

// settle adds an answer and the results of its calls to the conversation, and says whether
// the turn continues.
func (t *turn) settle(ans *answer) Reason {
	if ans.stop == nil && t.asking.Err() != nil {
		ans.interrupted()
	}
	said, err := ans.commit()
	calls, end := t.collect(ans)
	switch {
	case err != nil:
		return t.fail(JournalFailure, err)
	case ans.journal:
		return t.fail(JournalFailure, ans.err)
	case end != "":
		return end
	}
	if end := t.stopped(calls > 0); end != "" {
		return end
	}
	if ans.stop != nil {
		t.res.StopReason = ans.stop.Reason
	}
	if calls > 0 {
		return t.goOn(ans)
	}
	return t.conclude(ans, said)
}

// goOn prepares the next request after calls.
func (t *turn) goOn(ans *answer) Reason {
	t.attempts = attempts{reminded: t.attempts.reminded, misshapen: t.attempts.misshapen, stripped: t.attempts.stripped, unpriced: t.attempts.unpriced}
	var err error
	switch e := ans.failure(); {
	case e != nil:
		err = t.explain(e, fmt.Sprintf("API error: %s. The answer was cut off. The calls that had arrived in full were run, and the turn continues.", e))
	case ans.stop.Reason == model.MaxTokens:
		err = t.remind("Your last answer was cut off at the output limit. You see only what arrived; send the rest in smaller pieces.")
	}
	if err == nil {
		err = t.remind(t.news()...)
	}
	if err != nil {
		return t.fail(JournalFailure, err)
	}
	return t.join()
}

// news is what the model should know before it continues.
func (t *turn) news() []string {
	var news []string
	if t.a.opts.News != nil {
		news = t.a.opts.News(t.asking)
	}
	return append(news, t.toolNews()...)
}

// collect adds the results of an answer's calls, in their order, once all are there. It
// returns how many there were, and why the turn ends with them.
func (t *turn) collect(ans *answer) (calls int, end Reason) {
	if ans.calls == nil {
		return 0, ""
	}
	defer func() {
		ans.unwatch()
		t.arriving = nil
	}()
	var outcomes []*sched.Outcome
	var results []model.Block
	for out := range ans.calls.Outcomes() {
		outcomes = append(outcomes, out)
		results = append(results, session.ResultBlock(out))
	}
	t.hear(results...)
	t.a.noteResults(outcomes)
	t.res.Calls += len(outcomes)
	t.shown.await(t.res.Calls) // no one sees the next answer before these results
	var errs []error
	for _, out := range outcomes {
		errs = append(errs, t.beside(out))
		end = cmp.Or(end, t.consequence(out))
	}
	if err := errors.Join(errs...); err != nil {
		return len(outcomes), t.fail(JournalFailure, err)
	}
	if end == "" && t.asking.Err() == nil {
		end = t.showBatch(outcomes)
	}
	return len(outcomes), end
}

// showBatch shows the hooks all calls of an answer together.
func (t *turn) showBatch(outcomes []*sched.Outcome) Reason {
	if t.a.opts.Hooks == nil {
		return ""
	}
	var batch hook.PostToolBatch
	for _, out := range outcomes {
		input := out.Input
		if !json.Valid(input) {
			input = json.RawMessage("null")
		}
		batch.ToolCalls = append(batch.ToolCalls, hook.BatchCall{ToolName: out.Tool, ToolInput: input, ToolUseID: out.UseID, ToolResponse: out.Result.Text()})
	}
	said := t.a.fire(t.asking, batch)
	notes := said.Notes
	if said.Blocked() {
		notes = append(notes, "PostToolBatch hook blocking error: "+cmp.Or(said.Reason, "no reason given"))
	}
	if err := t.remind(notes...); err != nil {
		return t.fail(JournalFailure, err)
	}
	if said.Stop {
		return t.fail(StoppedByHook, errors.New(cmp.Or(said.StopReason, "a hook ended the turn")))
	}
	return ""
}

// beside adds what a call returned in addition to its result.
func (t *turn) beside(out *sched.Outcome) error {
	notes := out.Notes
	if len(out.Repairs) > 0 {
		var repairs []string
		for _, r := range out.Repairs {
			repairs = append(repairs, r.String())
		}
		notes = append(notes, fmt.Sprintf("The input of your %s call was repaired: %s.", out.Tool, strings.Join(repairs, "; ")))
	}
	err := t.remind(notes...)
	for _, m := range out.Result.Messages {
		var blocks []model.Block
		for _, b := range m.Content {
			blocks = append(blocks, model.ContentOf(b))
		}
		err = errors.Join(err, t.add(Instructed, "", blocks...))
	}
	if out.Result.Change != nil && !out.IsError() {
		t.apply(out.Result.Change)
	}
	return err
}

// consequence says why the turn ends with an outcome.
func (t *turn) consequence(out *sched.Outcome) Reason {
	if out.Status == sched.Denied || len(out.Verdict.Dropped) > 0 {
		t.res.Denials = append(t.res.Denials, out)
	}
	var unwritten *journalError
	switch {
	case errors.As(out.Fatal, &unwritten):
		return t.fail(JournalFailure, out.Fatal)
	case out.Fatal != nil:
		return t.fail(ToolFailure, out.Fatal)
	case out.Stop != "" && out.Status == sched.Denied:
		t.stop(&interruption{out.Stop})
		return ""
	case out.Stop != "":
		return t.fail(StoppedLoop, errors.New(out.Stop))
	case out.Result.Change != nil && out.Result.Change.Stop != "":
		return t.fail(StoppedByHook, errors.New(out.Result.Change.Stop))
	case out.Tool == structuredName && t.a.opts.Structured != nil:
		return t.structured(out)
	}
	return ""
}

// structured ends the turn with the first valid answer.
func (t *turn) structured(out *sched.Outcome) Reason {
	if out.Status == sched.Succeeded {
		t.res.Structured = t.a.form.answer(out.Input)
		t.res.Text = string(t.res.Structured)
		return Completed
	}
	t.attempts.misshapen++
	if t.attempts.misshapen < structuredTries {
		return ""
	}
	return t.fail(StructuredRetries, fmt.Errorf("the model gave %d answers that did not match the schema", t.attempts.misshapen))
}

// How often the model is asked to continue after an empty or truncated answer.
const (
	maxCut    = 3
	maxPaused = 20
	maxEmpty  = 1
	maxBlocks = 10
)

// conclude decides after an answer without calls.
func (t *turn) conclude(ans *answer, said bool) Reason {
	words := text(ans.blocks)
	if words != "" {
		t.res.Text = words
	}
	switch n := &t.attempts; {
	case ans.stop.Reason == model.PauseTurn && n.paused < maxPaused:
		n.paused++
		return ""
	case ans.stop.Reason == model.MaxTokens && n.cut < maxCut:
		n.cut++
		return t.nudge("Your answer was cut off at the output limit. Continue exactly where you stopped, without an apology or a recap. If you were about to write something long, do it in smaller pieces.")
	case ans.stop.Reason == model.MaxTokens:
		return t.fail(OutputExhausted, fmt.Errorf("the answer was cut off at the output limit %d times in a row", n.cut+1))
	case ans.stop.Reason == model.ContextExceeded:
		return t.outgrown()
	case ans.stop.Reason == model.Refusal:
		t.res.Text = cmp.Or(words, "The model declined to answer.")
		return t.fail(Refused, errors.New("the model declined to answer"))
	case !said && n.empty < maxEmpty:
		n.empty++
		return t.nudge("Your answer was empty. If there is more to do, continue. If not, tell the user in a sentence what you did or found.")
	case t.a.opts.Structured != nil && n.reminded < structuredReminders:
		n.reminded++
		return t.instruct(structuredReminder)
	}
	return t.mayEnd(words)
}

// nudge tells the model something that it should act on.
func (t *turn) nudge(s string) Reason {
	if err := t.remind(s); err != nil {
		return t.fail(JournalFailure, err)
	}
	return ""
}

// instruct tells the model something as nudge does, and reports it to front ends.
func (t *turn) instruct(s string) Reason {
	if err := t.add(Instructed, "", model.TextOf(s)); err != nil {
		return t.fail(JournalFailure, err)
	}
	return ""
}

// outgrown continues after an answer that did not fit into the rest of the context.
func (t *turn) outgrown() Reason {
	if end := t.overflow(&model.Error{Kind: model.PromptTooLong, Message: "the conversation fills the model's context"}); end != "" {
		return end
	}
	return t.nudge("Your answer was cut off because the context was full. The conversation was compacted: continue where you stopped.")
}

// mayEnd asks the hooks whether the turn may end.
func (t *turn) mayEnd(words string) Reason {
	stop := hook.Stop{StopHookActive: t.attempts.stopBlocks > 0, LastAssistantMessage: words}
	var said hook.Outcome
	if t.a.opts.Agent == "" {
		said = t.a.fire(t.asking, stop)
	} else {
		said = t.a.fire(t.asking, hook.SubagentStop{Stop: stop, AgentID: t.a.opts.Agent, AgentType: t.a.opts.AgentType})
	}
	if end := t.stopped(false); end != "" {
		return end
	}
	if err := t.remind(said.Notes...); err != nil {
		return t.fail(JournalFailure, err)
	}
	switch {
	case said.Stop:
		return t.fail(StoppedByHook, errors.New(cmp.Or(said.StopReason, "a hook ended the turn")))
	case !said.Blocked():
		return Completed
	case t.attempts.stopBlocks >= maxBlocks:
		t.keepAnswer(words)
		t.res.Text = strings.Join(t.attempts.blocked, "\n\n")
		t.a.out.put(Notice{Level: "warning", Tag: "stop_hook", Text: fmt.Sprintf("A Stop hook kept the turn from ending %d times in a row, so haft ended it.", maxBlocks)})
		return Completed
	}
	t.attempts.stopBlocks++
	t.keepAnswer(words)
	return t.instruct("Stop hook feedback:\n" + cmp.Or(said.Reason, "the turn must not end yet"))
}

// keepAnswer keeps the answer when a hook did not let the turn end: what the model says
// only to satisfy the hook must not replace the answer.
func (t *turn) keepAnswer(words string) {
	if words != "" && !slices.Contains(t.attempts.blocked, words) {
		t.attempts.blocked = append(t.attempts.blocked, words)
	}
}
