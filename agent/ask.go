package agent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

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

// question returns the request that asks for an answer to messages.
func (t *turn) question(set *settings, messages *model.History) *model.Request {
	o := &t.a.opts
	return &model.Request{
		Model: set.model, System: o.System, Tools: t.tools.Request(), Messages: messages, MaxTokens: o.MaxTokens,
		Thinking: set.thinking, Effort: set.effort, TaskBudget: o.TaskBudget, Betas: o.Betas, Session: t.journal.ID(),
	}
}

// maxBroken is how often in a row a broken answer is requested again. Requests that fail
// before an answer begins are retried by the client.
const maxBroken = 5

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

// longestPause is how long a server may ask to wait in the middle of a turn.
const longestPause = time.Minute

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

// giveUp says why there is no answer.
func (t *turn) giveUp(r Reason, e *model.Error) Reason {
	t.res.Err, t.res.Text = e, "API error: "+e.Error()
	t.res.Errors = append(t.res.Errors, e.Error())
	if err := t.explain(e, t.res.Text); err != nil {
		return t.fail(JournalFailure, err)
	}
	return r
}

// explain shows the user a text in place of an answer. The model never sees it.
func (t *turn) explain(e *model.Error, text string) error {
	said := Said{UUID: session.NewUUID(), MessageID: session.NewUUID(), Model: "<synthetic>", Block: model.TextOf(text), Agent: t.a.opts.Agent, Error: e}
	err := t.journal.Append(t.lasting, session.Entry{UUID: said.UUID, Agent: said.Agent, Message: &session.Message{
		Role: model.Assistant, Content: []model.Block{said.Block}, ID: said.MessageID, Model: said.Model, Error: string(e.Kind),
	}})
	t.a.out.put(said)
	return err
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

// maxStripped is how often in a turn refused content is removed.
const maxStripped = 3

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

// leaveOutMedia removes images and documents that the provider may have refused, for this
// session and whenever it is resumed. It reports whether there were any.
func (a *Agent) leaveOutMedia(e *model.Error) bool {
	a.mu.Lock()
	gone := a.talk.stripMedia("[Removed because the model's API rejected it: " + e.Message + "]")
	if a.refused == nil {
		a.refused = map[string]string{}
	}
	maps.Copy(a.refused, gone)
	refused := maps.Clone(a.refused)
	a.mu.Unlock()
	if len(gone) == 0 {
		return false
	}
	a.note(StateRefused, refused)
	a.out.put(Notice{Level: "warning", Tag: "media", Text: fmt.Sprintf("The model's API rejected an image or document (%s). The conversation continues without it.", e.Message)})
	return true
}

// estimate is how many tokens the next request has. It is called with mu held.
func (a *Agent) estimate(tools *tool.Set) int64 {
	if a.ledger.counted {
		return a.ledger.tokens()
	}
	return a.tokensOfSystem() + tokensOf(len(tools.Request())) + a.ledger.tokens()
}

// tokens is how many tokens the next request has, estimated.
func (t *turn) tokens() int64 {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	return t.a.estimate(t.tools)
}

// asked is the name of the model that the next request goes to. It is called with mu held.
func (a *Agent) asked() string {
	if a.set.mode == "plan" && a.opts.PlanModel != "" && a.set.model == a.opts.ModelName {
		return a.opts.PlanModel
	}
	return a.set.model
}

// adjusted reports once that requests differ from what was asked for.
func (a *Agent) adjusted(ev model.Adjusted) {
	if !a.told[ev.Text] {
		a.told[ev.Text] = true
		a.out.put(Notice{Level: "warning", Tag: "model", Text: ev.Text})
	}
}

// mediaLimit is how many images, or pages of documents, a request may have.
func (a *Agent) mediaLimit(name string) int {
	if a.opts.Context.Media == nil {
		return 100
	}
	return a.opts.Context.Media(name)
}

// settings returns what the next request is made with.
func (a *Agent) settings() settings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.set
}
