package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
)

// sentence ends a text with a period, unless it already ends a sentence: a hook writes its
// reason as it likes.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
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

// checkPrompt says why a prompt cannot be sent.
func (t *turn) checkPrompt(p Prompt) error {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	return checkPrompt(p.Content, t.a.talk.open)
}

// greet tells the hooks, once, that the session or the sub-agent starts, and returns their
// notes.
func (t *turn) greet() []string {
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
func (t *turn) submit(p Prompt) hook.Outcome {
	if p.Origin != "" || t.a.opts.Agent != "" { // nobody says it, or another agent does
		return hook.Outcome{}
	}
	return t.a.fire(t.asking, hook.UserPromptSubmit{Prompt: text(p.Content)})
}

// facts returns what the model should know before it hears the prompt.
func (t *turn) facts() []string {
	a := t.a
	var facts []string
	if a.opts.Facts != nil {
		facts = a.opts.Facts(t.asking, a.fresh)
	}
	a.fresh = false
	return append(facts, t.toolNews()...)
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

// unmarked removes the cache mark from a block. A request has few, and the client sets them
// where they help.
func unmarked(b model.Block) model.Block {
	const mark = "cache_control"
	var members map[string]json.RawMessage
	if !bytes.Contains(b.Raw, []byte(mark)) || json.Unmarshal(b.Raw, &members) != nil || members[mark] == nil {
		return b
	}
	delete(members, mark)
	raw, err := plainjson.Marshal(members)
	var plain model.Block
	if err != nil || json.Unmarshal(raw, &plain) != nil {
		return b
	}
	return plain
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

// leaveOut notes that a prompt does not join the turn after all.
func (t *turn) leaveOut(p Prompt) {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.prompts = slices.DeleteFunc(t.prompts, func(id string) bool { return id == p.UUID })
}
