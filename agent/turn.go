package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
)

// A turn is everything between a prompt and its result. It belongs to the goroutine that
// runs it, except stop and prompts, which an interrupt uses.
type turn struct {
	room

	prompt Prompt

	stop context.CancelCauseFunc // ends asking
	free context.CancelFunc

	calls    *sched.Scheduler
	feed     *sched.Feed
	relayed  chan struct{} // closed when the feed is read to its end
	shown    *counter      // results that front ends were sent
	arriving *answer       // the answer whose calls have no results yet

	began time.Time
}

// attempts count what a turn does only a limited number of times.
type attempts struct {
	broken     int // answers in a row that broke off with nothing to keep
	cut        int // answers in a row that were too long
	paused     int // answers in a row that the provider paused
	empty      int
	reminded   int      // of the structured answer
	misshapen  int      // structured answers
	stopBlocks int      // Stop hooks in a row that did not let the turn end
	blocked    []string // what was said each time, without repetitions
	overflows  int      // of the context
	stripped   int      // how often what a provider refused was taken out
	unpriced   bool     // the user was told that the budget cannot be enforced
}

// interruption is why a user's interrupt ended a turn.
type interruption struct{ why string }

func (i *interruption) Error() string {
	if i.why == "" {
		return "the user interrupted the turn"
	}
	return i.why
}

var errTimeUp = errors.New("the turn reached its time limit")

// run runs the turn from its prompt to its result, which always comes.
func (t *turn) run() {
	go t.relay()
	var reason Reason
	defer func() {
		if p := recover(); p != nil {
			reason = t.fail(Crashed, fmt.Errorf("haft crashed: %v\n%s", p, debug.Stack()))
		}
		t.finish(reason)
	}()
	t.a.out.put(TurnStarted{Prompts: []Prompt{t.prompt}, Model: t.a.settings().model, Mode: t.a.settings().mode, Tools: t.tools})
	if t.prompt.command != "" {
		t.res.Prompts = []Prompt{t.prompt} // others are listed when they are taken
	}
	if t.a.opts.Busy != nil {
		if err := t.a.opts.Busy(t.asking, true); err != nil {
			reason = t.fail(JournalFailure, err)
			return
		}
	}
	switch t.prompt.command {
	case "compact":
		reason = t.compactCommand()
	case "clear":
		reason = t.clearCommand()
	default:
		reason = t.converse()
		t.tellFailure()
	}
}

// tellFailure tells the hooks that the model could not be asked. They change nothing.
func (t *turn) tellFailure() {
	if e := t.res.Err; e != nil && t.a.opts.Agent == "" {
		t.a.fire(t.lasting, hook.StopFailure{Error: e.Kind.WireName(), ErrorDetails: e.Message, LastAssistantMessage: t.res.Text})
	}
}

// compactCommand is a turn that only compacts.
func (t *turn) compactCommand() Reason {
	err := t.compact("manual", text(t.prompt.Content))
	if end := t.stopped(false); end != "" {
		return end
	}
	if err != nil {
		t.res.Text = "Could not compact the conversation: " + err.Error()
		return t.fail(APIError, err)
	}
	t.res.Text = "The conversation was compacted."
	return Completed
}

// converse is the loop. Each step returns why the turn ends there; "" continues.
func (t *turn) converse() Reason {
	if end := t.open(); end != "" {
		return end
	}
	if t.prompt.Answer != nil {
		return t.answerPrompt()
	}
	for {
		if end := t.withinLimits(); end != "" {
			return end
		}
		if end := t.makeRoom(); end != "" {
			return end
		}
		ans, end := t.ask()
		if end != "" {
			return end
		}
		if end := t.settle(ans); end == Completed {
			return cmp.Or(t.withinBudget(), end)
		} else if end != "" {
			return end
		}
	}
}

// answerPrompt is the rest of a turn whose prompt brings its answer. No model is asked, and
// the one that continues the conversation reads the answer as its own.
func (t *turn) answerPrompt() Reason {
	if end := t.withinBudget(); end != "" {
		return end
	}
	text, failed := t.prompt.Answer(t.asking)
	if text != "" {
		if err := t.sayAnswer(text); err != nil {
			return t.fail(JournalFailure, err)
		}
	}
	if end := t.stopped(true); end != "" {
		return end
	}
	if t.res.Text = text; failed != nil {
		t.res.Text = failed.Error()
		return t.fail(CommandFailed, failed)
	}
	if end := t.withinBudget(); end != "" {
		return end
	}
	return Completed
}

// What the model reads about a turn that was stopped.
const (
	stoppedText      = "[Request interrupted by user]"
	stoppedCallsText = "[Request interrupted by user for tool use]"
	timeUpText       = "[The turn ended because it reached its time limit]"
)

// Stopped says for users why a turn was stopped, given the text of a synthetic message of a
// journal; "" for other texts.
func Stopped(text string) string {
	switch text {
	case stoppedText, stoppedCallsText:
		return "interrupted"
	case timeUpText:
		return "the turn reached its time limit"
	}
	return ""
}

// finish ends the turn: nothing of it is left running, the conversation can be sent, and
// there is a result.
func (t *turn) finish(reason Reason) {
	a := t.a
	t.stop(context.Canceled)
	if t.arriving != nil { // it crashed
		t.arriving.salvage()
	}
	t.free()
	t.feed.Close()
	<-t.relayed
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	a.returnModel()
	a.noteBeside()
	a.mu.Lock()
	a.talk.close("the turn ended first")
	t.res.Reason = reason
	t.res.Total = maps.Clone(a.ledger.total)
	t.res.Duration = time.Since(t.began)
	t.res.Queued = len(a.queue)
	a.turn = nil
	a.mu.Unlock()
	a.out.put(t.res)
}

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

func (t *turn) newAnswer(model string) *answer {
	t.a.naming.next()
	return &answer{t: t, model: model, requested: time.Now(), inputs: map[int]*input{}, texts: map[int]*strings.Builder{}}
}

// ask sends the conversation until there is an answer, or a usable part of one.
func (t *turn) ask() (*answer, Reason) {
	t.res.Requests++
	for {
		if end := t.stopped(false); end != "" {
			return nil, end
		}
		ans, err := t.request()
		if err != nil {
			return nil, t.fail(Crashed, err)
		}
		if ans.failure() == nil || ans.kept > 0 || t.asking.Err() != nil {
			t.attempts.broken = 0
			return ans, ""
		}
		if end := t.handleBrokenAnswer(ans); end != "" {
			return nil, end
		}
	}
}

// request makes one request and handles the response.
func (t *turn) request() (*answer, error) {
	a := t.a
	a.mu.Lock()
	a.sealTools()
	t.tools = a.set.tools
	set := a.set
	set.model = a.asked()
	limit := a.mediaLimit(set.model)
	thinned := a.talk.thinMedia(limit)
	history, err := a.talk.ready()
	tokens := a.estimate(t.tools)
	a.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("encode the conversation: %w", err)
	}
	if thinned > 0 {
		a.out.put(Notice{Level: "info", Tag: "media", Text: fmt.Sprintf("Left out %s: the model accepts at most %d per request.", plural.Forms(thinned, "old image or document", "old images or documents"), limit)})
	}
	a.out.put(Requesting{Model: set.model, Tokens: tokens})
	ans := t.newAnswer(set.model)
	ans.read(t.asking, t.question(&set, history))
	t.res.APITime += time.Since(ans.requested)
	return ans, nil
}

// handleBrokenAnswer decides about an answer that broke off before anything in it took
// effect. It returns why the turn ends; "" asks again.
func (t *turn) handleBrokenAnswer(ans *answer) Reason {
	e := ans.failure()
	begun := ans.start.ID != "" || len(ans.blocks) > 0
	ans.retract()
	ans.spend()
	switch {
	case e.Kind == model.PromptTooLong:
		return t.overflow(e)
	case e.Kind == model.InvalidRequest && t.strip(e):
		return ""
	case e.Temporary() && begun && t.attempts.broken < maxBroken && e.RetryAfter <= longestPause:
		t.attempts.broken++
		return t.pause(e)
	}
	return t.giveUp(APIError, e)
}

// pause waits before the request is made again.
func (t *turn) pause(e *model.Error) Reason {
	delay := max(e.RetryAfter, 100*time.Millisecond<<t.attempts.broken+rand.N(50*time.Millisecond))
	t.a.out.put(Retrying{model.Retry{Attempt: t.attempts.broken, Max: maxBroken, Delay: delay, Err: e}})
	select {
	case <-time.After(delay):
	case <-t.asking.Done():
	}
	return ""
}

// overflow makes room after the provider found the conversation too long. It does so once
// per turn: what does not fit then will not fit.
func (t *turn) overflow(e *model.Error) Reason {
	t.attempts.overflows++
	if t.attempts.overflows == 1 {
		err := t.compact("auto", "")
		if err == nil || t.asking.Err() != nil {
			return ""
		}
		e = &model.Error{Kind: e.Kind, Status: e.Status, Type: e.Type, Message: e.Message + "; compacting the conversation did not help: " + err.Error(), Err: e}
	}
	return t.giveUp(PromptTooLong, e)
}

// strip removes what the provider may have refused, and reports whether there was anything:
// otherwise it would be sent again forever.
func (t *turn) strip(e *model.Error) bool {
	if t.attempts.stripped >= maxStripped {
		return false
	}
	t.attempts.stripped++
	switch a := t.a; {
	case aboutReferences(e) && a.Tools().References():
		a.loadPlainly(e)
		return true
	case strings.Contains(e.Message, "thinking") || strings.Contains(e.Message, "signature"):
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.talk.stripThoughts()
	default:
		return a.leaveOutMedia(e)
	}
}

// aboutReferences reports whether a request was refused because of the way in which tools
// are loaded.
func aboutReferences(e *model.Error) bool {
	message := strings.ToLower(e.Message)
	return slices.ContainsFunc([]string{"tool_reference", "tool reference", "defer_loading", "advanced-tool-use"}, func(part string) bool {
		return strings.Contains(message, part)
	})
}

// pipeline returns the way that the calls of the turn take.
func (t *turn) pipeline() *sched.Options {
	o := t.a.opts.Sched
	o.Feeds = append(slices.Clip(o.Feeds), t.feed)
	o.Recorder = recorders{o.Recorder, t.journal, t.stop}
	if t.a.opts.Person != nil {
		o.Askers = append(slices.Clip(o.Askers), sched.AskerFunc(t.askPerson))
	}
	return &o
}

// relay puts what happens to calls into the stream.
func (t *turn) relay() {
	defer close(t.relayed)
	id := t.journal.ID()
	for e := range t.feed.Events(t.lasting) {
		if e.State != sched.Completed {
			t.a.out.put(Called{e})
			continue
		}
		if e.Outcome.Status == sched.Denied && !t.asked.has(e.CallID) {
			t.a.out.put(Denied{e.Outcome})
		}
		t.a.out.put(Returned{UUID: session.ResultUUID(id, e.CallID), Outcome: e.Outcome})
		t.shown.add(1 + e.Missed)
	}
}

// open adds the prompt that the turn is for, after what the model should know first.
func (t *turn) open() Reason {
	if err := t.checkPrompt(t.prompt); err != nil {
		t.res.Err = &model.Error{Kind: model.InvalidRequest, Message: err.Error()}
		t.res.Text = sentence("The prompt was not sent: " + err.Error())
		return t.fail(APIError, err)
	}
	if err := t.remind(append(t.facts(), t.greet()...)...); err != nil {
		return t.fail(JournalFailure, err)
	}
	said := t.submit(t.prompt)
	if said.Blocked() || said.Stop {
		t.res.Text = sentence("The prompt was not sent: " + cmp.Or(said.Reason, said.StopReason, "a hook blocked it"))
		return t.fail(StoppedByHook, errors.New(t.res.Text))
	}
	if t.prompt.Change != nil {
		change := *t.prompt.Change
		t.a.loadTools(change.Reveal)
		change.Reveal = nil
		t.apply(&change)
	}
	if err := t.take(t.prompt, t.prompt.Content, said.Notes); err != nil {
		return t.fail(JournalFailure, err)
	}
	t.a.begin()
	if t.prompt.Silent {
		return Completed
	}
	return ""
}

// take puts a prompt into the conversation, and what hooks noted about it.
func (t *turn) take(p Prompt, content []model.Block, notes []string) error {
	t.res.Prompts = append(t.res.Prompts, p)
	t.repeats.Forget()
	content = readable(content)
	kind := Prompted
	if p.Origin == TaskNotification {
		kind = Notified
	}
	if err := t.addPrompt(kind, p.UUID, &p, content...); err != nil {
		return err
	}
	return t.remind(notes...)
}

// readable returns what a user sent in a form that can be sent on: an unknown part or an
// empty message would be refused again and again.
func readable(content []model.Block) []model.Block {
	var said []model.Block
	for _, b := range content {
		b = unmarked(b)
		if _, err := json.Marshal(b); err != nil {
			b = model.TextOf("[Part of the message could not be read: " + err.Error() + "]")
		}
		if !blank(b) {
			said = append(said, b)
		}
	}
	if said == nil {
		said = []model.Block{model.TextOf("(empty message)")}
	}
	return said
}

// join adds what was said while the turn ran. It is called at a boundary: the calls of an
// answer have their results, and the next request has not been made yet.
func (t *turn) join() Reason {
	a := t.a
	a.mu.Lock()
	urgent := slices.ContainsFunc(a.queue, func(p Prompt) bool { return p.Priority == Now })
	var joining []Prompt
	if !urgent {
		ordered := false // what was said after a command waits for it
		a.queue = slices.DeleteFunc(a.queue, func(p Prompt) bool {
			ordered = ordered || p.command != "" || p.Answer != nil
			joins := p.Priority == Next && !ordered
			if joins {
				joining = append(joining, p)
				t.prompts, a.prompt = append(t.prompts, p.UUID), p.UUID
			}
			return joins
		})
	}
	a.mu.Unlock()
	if urgent {
		return Superseded
	}
	for _, p := range joining {
		if end := t.joinOne(p); end != "" {
			return end
		}
	}
	return ""
}

func (t *turn) joinOne(p Prompt) Reason {
	if err := t.checkPrompt(p); err != nil {
		t.leaveOut(p)
		t.a.out.put(Notice{Level: "warning", Tag: "prompt_refused", Text: sentence("A message was not sent: " + err.Error())})
		return ""
	}
	said := t.submit(p)
	if said.Blocked() || said.Stop {
		t.leaveOut(p)
		t.a.out.put(Notice{Level: "warning", Tag: "prompt_blocked", Text: sentence("A hook blocked a message: " + cmp.Or(said.Reason, said.StopReason, "it gave no reason"))})
		return ""
	}
	content := p.Content
	if p.Origin == "" && !p.Silent {
		content = slices.Concat([]model.Block{model.TextOf("The user sent a new message while you were working:")}, content)
	}
	if err := t.take(p, content, said.Notes); err != nil {
		return t.fail(JournalFailure, err)
	}
	return ""
}

// How often the model is asked to continue after an empty or truncated answer.
const (
	maxCut    = 3
	maxPaused = 20
	maxEmpty  = 1
	maxBlocks = 10
)

// maxBroken is how often in a row a broken answer is requested again. Requests that fail
// before an answer begins are retried by the client.
const maxBroken = 5

// longestPause is how long a server may ask to wait in the middle of a turn.
const longestPause = time.Minute

// maxStripped is how often in a turn refused content is removed.
const maxStripped = 3
