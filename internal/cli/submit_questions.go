package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/text/visible"
)

// unattended deals with the questions of a session whose users a submitted prompt does not know.
// Without --on-ask, they are left to those who watch the session. With it, nobody waits for an
// answer: questions of the prompt's own turn are denied, and with "fail", a prompt that waits
// behind another one's question is cancelled.
type unattended struct {
	*submission
	ctx    context.Context
	denies bool // --on-ask was given

	// patience is how long a question may be open before the prompt has begun until something is
	// done about it.
	patience time.Duration

	mu    sync.Mutex
	began bool            // the turn of the prompt has
	known map[string]bool // questions of the turn that were reported or denied, by id and digest, and those of others, by id
	count int             // of those that were denied here
	left  bool            // the prompt was cancelled because of another one's question
}

// opened takes the questions that are open now. They come in order with the messages: those of the
// prompt's own turn come after the prompt, and what was open before is about something else.
func (u *unattended) opened(open []serve.Question) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, q := range open {
		key := q.ID + " " + q.Digest
		switch {
		case u.known[q.ID] || u.known[key]:
		case !u.began:
			u.known[q.ID] = true
			time.AfterFunc(u.patience, func() { u.foreign(q.ID) })
		default:
			u.known[key] = true
			if u.denies {
				go u.deny(q, key)
			} else {
				u.report("A question is open: " + titleOf(q))
			}
		}
	}
}

// begin notes that the turn of the prompt has begun: what is asked from now on is about it.
func (u *unattended) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.began = true
}

// report says that someone else has to answer.
func (u *unattended) report(what string) {
	fmt.Fprintf(u.Err, "haft: %s\n  Answer it with: haft attach %s/s/%s\n", what, u.server.URL, u.session)
}

// deny answers a question in place of a user, if the turn of the prompt still runs: otherwise it is
// that of another user. If another answer was faster, that one counts.
func (u *unattended) deny(q serve.Question, key string) {
	answer := json.RawMessage(`{"behavior":"deny","message":"This needs approval, and the user who sent the prompt cannot be asked. Do without it, or say what you would need."}`)
	if q.Kind == "elicitation" {
		answer = json.RawMessage(`{"action":"decline"}`)
	}
	out, err := u.server.Outcome(u.ctx, u.session, u.prompt)
	if err == nil && out.State != serve.OutcomeWaiting {
		return
	}
	if err == nil {
		err = u.server.Answer(u.ctx, u.session, &serve.Answer{Question: q.ID, Digest: q.Digest, Answer: answer})
	}
	var refusal *serve.Problem
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err == nil:
		u.count++
		fmt.Fprintf(u.Err, "haft: denied because of --on-ask: %s\n", titleOf(q))
	case !errors.As(err, &refusal):
		delete(u.known, key) // the connection was lost: it is asked again with the next one
	case refusal.Code != "answered" && refusal.Code != "withdrawn" && refusal.Code != "changed":
		u.report(fmt.Sprintf("could not deny %s: %s", titleOf(q), visible.Text(refusal.Message)))
	}
}

// foreign deals with a question that was open before the prompt had begun. What was heard may be
// old, if the output is blocked: the server knows whether the prompt still waits for the question.
func (u *unattended) foreign(id string) {
	open, err := u.server.Questions(u.ctx, u.session)
	var out serve.Outcome
	if err == nil {
		out, err = u.server.Outcome(u.ctx, u.session, u.prompt)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		delete(u.known, id) // the connection was lost: it is looked at again with the next one
		return
	}
	i := slices.IndexFunc(open, func(q serve.Question) bool { return q.ID == id })
	if i < 0 || out.State != serve.OutcomeWaiting || out.Begun || u.began || u.left {
		return
	}
	u.report("The prompt is waiting behind another prompt's open question: " + titleOf(open[i]))
	if u.denies && u.onAsk == onAskFail {
		u.left = true
		go u.cancel(u.ctx)
	}
}

// denied reports whether a question was denied here.
func (u *unattended) denied() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.count > 0
}

// gaveUp reports whether the prompt was cancelled because another one's question was open.
func (u *unattended) gaveUp() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.left
}

// titleOf is what a question is about, in one line.
func titleOf(q serve.Question) string {
	var r struct {
		Title       string `json:"title"`
		ToolName    string `json:"tool_name"`
		DisplayName string `json:"display_name"`
		Message     string `json:"message"`
	}
	_ = json.Unmarshal(q.Request, &r) // what cannot be read is not shown
	return visible.Indented(cmp.Or(r.Title, r.Message, r.DisplayName, r.ToolName, q.Kind))
}
