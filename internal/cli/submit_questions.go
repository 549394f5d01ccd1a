package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/serve"
	"github.com/haftdev/haft/internal/visible"
)

// unattended deals with the questions of a session whose users a submitted prompt does not know.
// Without --on-ask, they are left to those who watch the session. With it, nobody waits for an
// answer: questions of the prompt's own turn are denied, and with "fail", a prompt that waits
// behind another one's question is cancelled.
type unattended struct {
	*submission
	ctx    context.Context
	denies bool // --on-ask was given

	mu    sync.Mutex
	began bool             // the turn of the prompt has
	open  []serve.Question // now
	known map[string]bool  // questions that were reported or denied, by id and digest
	count int              // of those that were denied here
	left  bool             // the prompt was cancelled because of another one's question
}

// foreignTime is how long a question may be open before the prompt has begun until it is taken
// for that of another prompt: the journal may come after the question.
const foreignTime = 3 * time.Second

// opened takes the questions that are open now.
func (u *unattended) opened(open []serve.Question) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open = open
	if u.began {
		u.settleLocked()
		return
	}
	for _, q := range open {
		if key := "waits for " + q.ID; !u.known[key] {
			u.known[key] = true
			time.AfterFunc(foreignTime, func() { u.foreign(q.ID) })
		}
	}
}

// begin notes that the turn of the prompt has begun: what is asked from now on is about it.
func (u *unattended) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.began = true
	u.settleLocked()
}

func (u *unattended) settleLocked() {
	for _, q := range u.open {
		key := q.ID + " " + q.Digest
		if u.known[key] {
			continue
		}
		u.known[key] = true
		if u.denies {
			go u.deny(q, key)
		} else {
			u.report("A question is open: " + titleOf(q))
		}
	}
}

// report says that someone else has to answer.
func (u *unattended) report(what string) {
	fmt.Fprintf(u.Err, "haft: %s\n  Answer it with: haft attach %s/s/%s\n", what, u.server.URL, u.session)
}

// deny answers a question in place of a user. If another answer was faster, that one counts.
func (u *unattended) deny(q serve.Question, key string) {
	answer := json.RawMessage(`{"behavior":"deny","message":"This needs an approval, and the user who sent the prompt cannot be asked. Do without it, or say what you would need."}`)
	if q.Kind == "elicitation" {
		answer = json.RawMessage(`{"action":"decline"}`)
	}
	err := u.server.Answer(u.ctx, u.session, &serve.Answer{Question: q.ID, Digest: q.Digest, Answer: answer})
	var refusal *serve.Problem
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err == nil:
		u.count++
		fmt.Fprintf(u.Err, "haft: denied, because --on-ask was used: %s\n", titleOf(q))
	case !errors.As(err, &refusal):
		delete(u.known, key) // the connection was lost: it is asked again with the next one
	case refusal.Code != "answered" && refusal.Code != "withdrawn" && refusal.Code != "changed":
		u.report(fmt.Sprintf("could not deny %s: %s", titleOf(q), visible.Text(refusal.Message)))
	}
}

// foreign deals with a question that is still open and is not about the prompt.
func (u *unattended) foreign(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := -1
	for n, q := range u.open {
		if q.ID == id {
			i = n
		}
	}
	if i < 0 || u.began || u.left {
		return
	}
	u.report("The prompt waits for a question of another one: " + titleOf(u.open[i]))
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
