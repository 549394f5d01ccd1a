package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A turn is everything between a prompt and its result. It belongs to the goroutine that
// runs it, except stop and prompts, which an interrupt uses.
type turn struct {
	a       *Agent
	prompt  Prompt
	prompts []string // the ids of prompt and of those that joined; under the agent's lock
	tools   *tool.Set
	journal Journal

	// ctx ends with Run or when the time is up, and everything with it. An interrupt ends
	// asking, the context of the model and the hooks, and lets calls finish that must not
	// be interrupted. Lasting never ends: what happened is always recorded.
	ctx, asking, lasting context.Context
	stop                 context.CancelCauseFunc // ends asking
	free                 context.CancelFunc

	calls    *sched.Scheduler
	repeats  *sched.Repeats
	feed     *sched.Feed
	relayed  chan struct{} // closed when the feed is read to its end
	shown    *counter      // results that front ends were sent
	asked    askedAbout
	undo     []func() // ends what was allowed for the turn
	arriving *answer  // the answer whose calls have no results yet
	attempts attempts

	res   Result
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

// clearCommand is a turn that forgets the conversation. Nothing of it is deleted.
func (t *turn) clearCommand() Reason {
	a := t.a
	a.fire(t.asking, hook.SessionEnd{Reason: "clear"})
	if a.opts.Renew != nil {
		j, err := a.opts.Renew(t.lasting)
		if err != nil {
			return t.fail(JournalFailure, fmt.Errorf("start a new session: %w", err))
		}
		a.mu.Lock()
		a.journal = j
		a.talk = conversation{}
		a.set.tools = a.set.tools.Renew()
		a.noted.renew()
		a.ledger.renew()
		a.mu.Unlock()
	} else if err := t.replace(&Compacted{UUID: session.NewUUID(), Trigger: "clear", PreTokens: t.tokens()}, nil); err != nil {
		return t.fail(JournalFailure, err)
	}
	a.fresh, a.started, a.source = true, false, "clear"
	clear(a.named)
	a.out.put(Changed{Cleared, a.Session()})
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

// sayAnswer makes a text an answer of the conversation.
func (t *turn) sayAnswer(text string) error {
	said := Said{UUID: session.NewUUID(), MessageID: session.NewUUID(), Model: "<synthetic>", Block: model.TextOf(text), Agent: t.a.opts.Agent}
	blocks := []model.Block{said.Block}
	if err := t.journal.Append(t.lasting, session.Entry{UUID: said.UUID, Agent: said.Agent, Message: &session.Message{
		Role: model.Assistant, Content: blocks, ID: said.MessageID, Model: said.Model, StopReason: model.EndTurn,
	}}); err != nil {
		return fmt.Errorf("save the answer: %w", err)
	}
	t.a.out.put(said)
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	_, unsent := t.a.talk.ready()
	_, err := t.a.talk.answer(blocks)
	t.a.ledger.add(blocks...)
	return errors.Join(unsent, err)
}

// withinLimits says whether another request may be made.
func (t *turn) withinLimits() Reason {
	limits := &t.a.opts.Limits
	if limits.Turns > 0 && t.res.Requests >= limits.Turns {
		t.res.Errors = append(t.res.Errors, fmt.Sprintf("Reached maximum number of turns (%d)", limits.Turns))
		return MaxTurns
	}
	return t.withinBudget()
}

// withinBudget says whether there is money left. A turn that has used it up ends as such,
// even if its last answer needs no other request.
func (t *turn) withinBudget() Reason {
	limits := &t.a.opts.Limits
	if limits.BudgetUSD == 0 {
		return ""
	}
	cost, known := t.a.cost()
	if !known && !t.attempts.unpriced {
		t.attempts.unpriced = true
		t.a.out.put(Notice{Level: "warning", Tag: "budget", Text: "No price is known for this model, so the budget cannot be enforced."})
	}
	if cost >= limits.BudgetUSD {
		t.res.Errors = append(t.res.Errors, fmt.Sprintf("Reached maximum budget ($%g): spent $%.4f", limits.BudgetUSD, cost))
		return BudgetExhausted
	}
	return ""
}

// cost is what the session has cost since it was started or resumed, and whether all of it
// is known.
func (a *Agent) cost() (usd float64, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	usd, known = -a.ledger.before, true
	for _, u := range a.ledger.total {
		usd += u.Cost
		known = known && !u.Unpriced
	}
	return usd, known
}

// stopped says why the turn ends if it was stopped. Acting says whether tools were running.
func (t *turn) stopped(acting bool) Reason {
	if t.asking.Err() == nil {
		return ""
	}
	cause := context.Cause(t.asking)
	message, reason := stoppedText, AbortedStreaming
	if acting {
		message, reason = stoppedCallsText, AbortedTools
	}
	if errors.Is(cause, errTimeUp) {
		message, reason = timeUpText, TimeExhausted
	}
	t.res.Errors = append(t.res.Errors, cause.Error())
	if err := t.add(Interrupted, "", model.TextOf(message)); err != nil {
		return t.fail(JournalFailure, err)
	}
	return reason
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

// fail notes an error that ends the turn.
func (t *turn) fail(r Reason, err error) Reason {
	if errors.Is(err, session.ErrFenced) {
		r = TakenOver
	}
	t.res.Errors = append(t.res.Errors, err.Error())
	return r
}

// add writes down what the harness says, and says it.
func (t *turn) add(kind AddedKind, uuid string, blocks ...model.Block) error {
	return t.addPrompt(kind, uuid, nil, blocks...)
}

func (t *turn) addPrompt(kind AddedKind, uuid string, p *Prompt, blocks ...model.Block) error {
	if uuid == "" {
		uuid = session.NewUUID()
	}
	m := model.Message{Role: model.User, Content: blocks}
	entry := session.Entry{UUID: uuid, Agent: t.a.opts.Agent, Message: &session.Message{Role: m.Role, Content: m.Content, Typed: p != nil && p.Typed, Synthetic: kind != Prompted}}
	if err := t.journal.Append(t.lasting, entry); err != nil {
		return fmt.Errorf("save the message: %w", err)
	}
	t.hear(blocks...)
	t.a.out.put(Added{UUID: uuid, Kind: kind, Message: m, Agent: t.a.opts.Agent, Prompt: p})
	return nil
}

// remind adds notes of the harness, if there are any.
func (t *turn) remind(notes ...string) error {
	var blocks []model.Block
	for _, n := range notes {
		if strings.TrimSpace(n) != "" {
			blocks = append(blocks, reminder(n))
		}
	}
	if blocks == nil {
		return nil
	}
	return t.add(Reminded, "", blocks...)
}

// hear puts blocks of our side into the conversation.
func (t *turn) hear(blocks ...model.Block) {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	blocks, _ = heedMedia(blocks, t.a.mediaLimit(t.a.set.model))
	t.a.talk.hear(blocks...)
	t.a.ledger.add(blocks...)
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

// returnModel goes back to the model that the turn did not borrow.
func (a *Agent) returnModel() {
	a.changeModel(func(s *settings) { s.model, s.own = cmp.Or(s.own, s.model), "" })
}
