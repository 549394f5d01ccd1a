package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// An exchange is what a turn says to the model, to hooks and to the journal.
type exchange struct {
	a       *Agent
	prompts []string // the ids of prompt and of those that joined; under the agent's lock
	tools   *tool.Set
	journal Journal
	// ctx ends with Run or when the time is up, and everything with it. An interrupt ends
	// asking, the context of the model and the hooks, and lets calls finish that must not
	// be interrupted. Lasting never ends: what happened is always recorded.
	ctx, asking, lasting context.Context
	asked                askedAbout
	undo                 []func() // ends what was allowed for the turn
}

// sayAnswer makes a text an answer of the conversation.
func (t *exchange) sayAnswer(text string) error {
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

// add writes down what the harness says, and says it.
func (t *exchange) add(kind AddedKind, uuid string, blocks ...model.Block) error {
	return t.addPrompt(kind, uuid, nil, blocks...)
}

func (t *exchange) addPrompt(kind AddedKind, uuid string, p *Prompt, blocks ...model.Block) error {
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
func (t *exchange) remind(notes ...string) error {
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
func (t *exchange) hear(blocks ...model.Block) {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	blocks, _ = heedMedia(blocks, t.a.mediaLimit(t.a.set.model))
	t.a.talk.hear(blocks...)
	t.a.ledger.add(blocks...)
}

// news is what the model should know before it continues.
func (t *exchange) news() []string {
	var news []string
	if t.a.opts.News != nil {
		news = t.a.opts.News(t.asking)
	}
	return append(news, t.toolNews()...)
}

// beside adds what a call returned in addition to its result.
func (t *exchange) beside(out *sched.Outcome) error {
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

// question returns the request that asks for an answer to messages.
func (t *exchange) question(set *settings, messages *model.History) *model.Request {
	o := &t.a.opts
	return &model.Request{
		Model: set.model, System: o.System, Tools: t.tools.Request(), Messages: messages, MaxTokens: o.MaxTokens,
		Thinking: set.thinking, Effort: set.effort, TaskBudget: o.TaskBudget, Betas: o.Betas, Session: t.journal.ID(),
	}
}

// explain shows the user a text in place of an answer. The model never sees it.
func (t *exchange) explain(e *model.Error, text string) error {
	said := Said{UUID: session.NewUUID(), MessageID: session.NewUUID(), Model: "<synthetic>", Block: model.TextOf(text), Agent: t.a.opts.Agent, Error: e}
	err := t.journal.Append(t.lasting, session.Entry{UUID: said.UUID, Agent: said.Agent, Message: &session.Message{
		Role: model.Assistant, Content: []model.Block{said.Block}, ID: said.MessageID, Model: said.Model, Error: string(e.Kind),
	}})
	t.a.out.put(said)
	return err
}

// tokens is how many tokens the next request has, estimated.
func (t *exchange) tokens() int64 {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	return t.a.estimate(t.tools)
}

// replace makes messages the conversation.
func (t *exchange) replace(done *Compacted, messages []model.Message) error {
	a := t.a
	entry := session.Entry{UUID: done.UUID, Agent: a.opts.Agent, Compaction: &session.Compaction{Trigger: done.Trigger, PreTokens: done.PreTokens, Messages: messages}}
	if err := t.journal.Append(t.lasting, entry); err != nil {
		return err
	}
	var c conversation
	var tokens int64
	for _, m := range messages {
		tokens += estimate(m.Content)
		if m.Role == model.User {
			c.hear(m.Content...)
		} else if _, err := c.ready(); err != nil {
			return err
		} else if _, err := c.answer(m.Content); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.talk = c
	a.set.tools = a.set.tools.Renew()
	a.ledger.restart(tokens)
	return nil
}

// apply makes the changes that the result of a call asks for.
func (t *exchange) apply(c *tool.Change) {
	a := t.a
	if c.Model != "" {
		t.borrow(c.Model)
	}
	if c.Mode != "" {
		if err := a.SetMode(c.Mode); err != nil {
			a.out.put(Notice{Level: "warning", Text: err.Error()})
		}
	}
	if len(c.Allow) > 0 && a.opts.Permissions != nil {
		undo, err := a.opts.Permissions.Allow(c.Allow)
		if err != nil {
			a.out.put(Notice{Level: "warning", Text: fmt.Sprintf("Could not apply the permission rules of a skill or command: %s", err)})
		} else {
			t.undo = append(t.undo, undo)
		}
	}
	if len(c.Reveal) > 0 {
		a.mu.Lock()
		a.revealed = append(a.revealed, c.Reveal...)
		a.set.tools = a.set.tools.Reveal(c.Reveal...)
		a.mu.Unlock()
		a.note(StateRevealed, a.revealed)
	}
}

// borrow switches to the model that a skill or command wants, until the turn ends. If there
// is none of that name, the current one continues.
func (t *exchange) borrow(name string) {
	a := t.a
	if a.opts.Resolve != nil {
		resolved, err := a.opts.Resolve(name)
		if err != nil {
			a.out.put(Notice{Level: "warning", Tag: "model", Text: fmt.Sprintf("Could not switch to model %q: %s. The conversation continues with %s.", name, err, a.settings().model)})
			return
		}
		name = resolved
	}
	a.lendModel(name)
}

// askPerson asks the user, and reports that it does.
func (t *exchange) askPerson(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
	t.asked.add(c.Call.ID)
	t.a.out.put(Waiting{CallID: c.Call.ID, UseID: c.Call.UseID, Tool: c.Call.Tool, Agent: c.Call.Agent})
	if t.a.opts.Hooks != nil {
		go t.a.fire(t.lasting, hook.Notification{Message: fmt.Sprintf("haft needs your permission to use %s", c.Call.Tool), Type: "permission_prompt"})
	}
	verdict, err := t.a.opts.Person.Ask(ctx, c, question)
	t.a.out.put(Answered{CallID: c.Call.ID})
	return verdict, err
}

// checkPrompt says why a prompt cannot be sent.
func (t *exchange) checkPrompt(p Prompt) error {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	return checkPrompt(p.Content, t.a.talk.open)
}

// checkPrompt says which block of a prompt no API accepts: it would be refused, and so
// would every request after it. Open are the calls that wait for a result.
func checkPrompt(content []model.Block, open []string) error {
	unmatched := 0
	for i, b := range content {
		if err := checkBlock(b); err != nil {
			return fmt.Errorf("block %d of the prompt: %w", i+1, err)
		}
		if b.Type == model.ToolResult && !slices.Contains(open, b.UseID) {
			unmatched++
		}
	}
	if unmatched > 0 && unmatched == len(content) {
		return fmt.Errorf("block 1 of the prompt is a result for call %q, which is not waiting for one, and the prompt contains nothing else", content[0].UseID)
	}
	return nil
}

// greet tells the hooks, once, that the session or the sub-agent starts, and returns their
// notes.
func (t *exchange) greet() []string {
	if t.a.started {
		return nil
	}
	t.a.started = true
	if t.a.opts.Agent != "" {
		return t.a.fire(t.asking, hook.SubagentStart{AgentID: t.a.opts.Agent, AgentType: t.a.opts.AgentType}).Notes
	}
	return t.a.fire(t.asking, hook.SessionStart{Source: t.a.source, Model: t.a.settings().model}).Notes
}

// submit shows what the user says to the hooks.
func (t *exchange) submit(p Prompt) hook.Outcome {
	if p.Origin != "" || t.a.opts.Agent != "" { // nobody says it, or another agent does
		return hook.Outcome{}
	}
	return t.a.fire(t.asking, hook.UserPromptSubmit{Prompt: text(p.Content)})
}

// facts returns what the model should know before it hears the prompt.
func (t *exchange) facts() []string {
	a := t.a
	var facts []string
	if a.opts.Facts != nil {
		facts = a.opts.Facts(t.asking, a.fresh)
	}
	a.fresh = false
	return append(facts, t.toolNews()...)
}

// leaveOut notes that a prompt does not join the turn after all.
func (t *exchange) leaveOut(p Prompt) {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.prompts = slices.DeleteFunc(t.prompts, func(id string) bool { return id == p.UUID })
}

// toolNews is what the model should know about tools that are not described to it, or that
// have changed. Each thing is said once.
func (t *exchange) toolNews() (news []string) {
	set := t.a.Tools()
	var late []*tool.Tool
	for _, d := range set.Deferred() {
		if !t.a.named[d.Name] {
			t.a.named[d.Name] = true
			late = append(late, d)
		}
	}
	if len(late) > 0 {
		news = append(news, introduce(set, late))
	}
	for _, n := range set.News() {
		if !t.a.named[n] {
			t.a.named[n] = true
			news = append(news, n)
		}
	}
	return news
}

// introduce names tools that are not described. If the model cannot search for them, it
// describes them too.
func introduce(set *tool.Set, late []*tool.Tool) string {
	var lines []string
	for _, d := range late {
		lines = append(lines, d.Name)
	}
	if set.Lookup(tool.SearchName) != nil {
		return introduction + strings.Join(lines, "\n")
	}
	left := maxIntroduced
	for i, d := range late {
		text := d.Name + ": " + strings.TrimSpace(set.Description(d)) + "\n" + set.Hint(d)
		if left -= len(text); left >= 0 {
			lines[i] = text
		}
	}
	return "These tools are new:\n" + strings.Join(lines, "\n")
}
