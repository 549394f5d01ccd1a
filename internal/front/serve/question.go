package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// A question is one that the process which leads the session asks its observers.
type question struct {
	Question
	answers chan any
	by      string   // who has answered; "" if nobody has
	verdict string   // that of a permission
	lost    *Problem // why the answer does not count, of one that was settled elsewhere
}

// questionRoutes are those about questions.
func (s *Server) questionRoutes() []route {
	return []route{
		answers(http.StatusOK, "GET", "/sessions/{id}/questions", "The questions that are open", s.getQuestions),
		answers(http.StatusOK, "GET", "/questions/{question}", "The session that a question is or was asked in", s.findQuestion),
		takes(http.StatusNoContent, "POST", "/sessions/{id}/answers", "Answer a question; the first answer counts", s.answer),
	}
}

// handle answers requests of the process that leads the session: it asks the clients.
func (w *watch) handle(ctx context.Context, r wire.Request) (a any, err error) {
	err = w.question(ctx, r, func(answer any) error { a = answer; return nil })
	return a, err
}

// question asks the clients, and settles the question with the first answer.
func (w *watch) question(ctx context.Context, r wire.Request, settle func(any) error) error {
	switch r := r.(type) {
	case *wire.CanUseTool:
		kind := "permission"
		switch r.ToolName {
		case "AskUserQuestion":
			kind = "question"
		case "ExitPlanMode":
			kind = "plan"
		}
		return w.ask(ctx, Question{ID: r.QuestionID, Kind: kind, ToolUseID: r.ToolUseID, Agent: r.AgentID}, r, settle)
	case *wire.Elicitation:
		return w.ask(ctx, Question{ID: r.ElicitationID, Kind: "elicitation"}, r, settle)
	}
	return wire.Unsupported(r)
}

// journalTime is how long the journal may take to show what was said.
const journalTime = 5 * time.Second

// ask waits for the answer of a client. What was written before the question comes first.
func (w *watch) ask(ctx context.Context, about Question, r wire.Request, settle func(any) error) error {
	for more, err := true, error(nil); more && err == nil; {
		more, err = w.read(ctx)
	}
	about.ID = cmp.Or(about.ID, session.NewUUID()) // an older process does not say it
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	about.Request, about.Digest = raw, hex.EncodeToString(sum[:16])
	q := &question{Question: about, answers: make(chan any, 1)}
	w.mu.Lock()
	w.questions[q.ID] = q
	w.asked++
	w.notify()
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.questions[q.ID] == q {
			delete(w.questions, q.ID)
		}
		w.asked++
		w.notify()
	}()
	select {
	case a := <-q.answers:
		err := settle(a)
		w.mu.Lock()
		defer w.mu.Unlock()
		errors.As(err, &q.lost)
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// openQuestions are those that wait for an answer, in the order of their ids. The watch
// is locked.
func (w *watch) openQuestions() Questions {
	list := Questions{Questions: []Question{}}
	for _, id := range slices.Sorted(maps.Keys(w.questions)) {
		if q := w.questions[id]; q.by == "" {
			list.Questions = append(list.Questions, q.Question)
		}
	}
	return list
}

// getQuestions returns the questions that are open.
func (s *Server) getQuestions(r *http.Request) (Questions, error) {
	w, err := s.watched(r)
	if err != nil {
		return Questions{}, err
	}
	defer w.release()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.openQuestions(), nil
}

// answer answers a question. It returns when the session has taken the answer.
func (s *Server) answer(r *http.Request, in *Answer) (noBody, error) {
	w, err := s.watched(r)
	if err != nil {
		return noBody{}, err
	}
	defer w.release()
	q, err := w.claim(r, in)
	if err != nil {
		return noBody{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), journalTime)
	defer cancel()
	err = w.await(ctx, func() bool {
		if _, asked := w.questions[q.ID]; asked {
			return false
		}
		_, open := w.fold.Asked(q.ID)
		return !open
	})
	if err != nil {
		return noBody{}, &Problem{status: http.StatusGatewayTimeout, Code: "not_taken", Message: "The session has not confirmed the answer yet. Check whether the question is still open."}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.lost != nil {
		return noBody{}, q.lost
	}
	if i, _ := w.fold.Asked(q.ID); i != nil && i.Call.By != "" && (i.Call.By != q.by || q.verdict != "" && i.Call.Verdict != q.verdict) {
		return noBody{}, wasAnswered(i.Call.By, i.Call.Verdict)
	}
	return noBody{}, nil
}

func wasAnswered(by, behavior string) *Problem {
	return &Problem{status: http.StatusConflict, Code: "answered", Message: "The question has already been answered by " + by + ".", By: by, Behavior: behavior}
}

// claim gives the answer to the question, if it is the first one.
func (w *watch) claim(r *http.Request, in *Answer) (*question, error) {
	if _, known := w.about(in.Question); known {
		// The link may still be on its way, as after a restart of this server.
		ctx, cancel := context.WithTimeout(r.Context(), journalTime)
		defer cancel()
		_ = w.await(ctx, func() bool {
			_, open := w.fold.Asked(in.Question)
			return !open || w.questions[in.Question] != nil
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.questions[in.Question]
	if q == nil {
		return nil, w.settledProblem(in.Question)
	}
	if q.by != "" {
		return nil, wasAnswered(q.by, "")
	}
	if q.Digest != in.Digest {
		return nil, &Problem{status: http.StatusConflict, Code: "changed", Message: "The question has changed since it was shown. Review it again."}
	}
	a, err := q.read(in.Answer)
	if err != nil {
		return nil, err
	}
	by := client(r)
	switch a := a.(type) {
	case *wire.PermissionAnswer:
		a.By, q.verdict = by, a.Behavior
		for _, u := range a.UpdatedPermissions {
			if err := mayPermit(r, u.Destination); err != nil {
				return nil, err
			}
		}
	case *wire.ElicitationReply:
		a.By = by
	}
	q.by = by
	w.settled = append(w.settled, *wasAnswered(q.by, behavior(a)))
	w.settled[len(w.settled)-1].Code = q.ID
	if len(w.settled) > maxRemembered {
		w.settled = w.settled[1:]
	}
	w.asked++
	q.answers <- a
	return q, nil
}

// about reports whether the journal has a question, and whether it is open.
func (w *watch) about(id string) (call any, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, open := w.fold.Asked(id)
	return i, open
}

// settledProblem says why a question cannot be answered. The watch is locked.
func (w *watch) settledProblem(id string) *Problem {
	for _, p := range w.settled {
		if p.Code == id {
			p.Code = "answered"
			return &p
		}
	}
	i, open := w.fold.Asked(id)
	switch {
	case i == nil:
		return errNoQuestion
	case open:
		return &Problem{status: http.StatusConflict, Code: "not_running", Message: "The process that asked has ended. Send a prompt to continue the session."}
	case i.Call.By == "":
		return &Problem{status: http.StatusConflict, Code: "withdrawn", Message: "The question was withdrawn."}
	}
	return wasAnswered(i.Call.By, i.Call.Verdict)
}

// client names who sends a request.
func client(r *http.Request) string {
	if d := deviceOf(r); d != nil {
		return "the paired device " + d.Name
	}
	agent := r.UserAgent()
	switch {
	case agent == TerminalAgent:
		return "an attached terminal"
	case r.Header.Get("Authorization") != "":
		return "a program that uses haft serve"
	}
	if on := deviceName(agent); on != "" {
		return "the web page on " + on
	}
	return "the web page"
}

// TerminalAgent is the user agent of terminals that are attached to a server.
const TerminalAgent = "haft attach"

func behavior(a any) string {
	switch a := a.(type) {
	case *wire.PermissionAnswer:
		return a.Behavior
	case *wire.ElicitationReply:
		return a.Action
	}
	return ""
}

// read reads the answer of a client.
func (q *question) read(raw json.RawMessage) (any, error) {
	if q.Kind == "elicitation" {
		var a wire.ElicitationReply
		if err := json.Unmarshal(raw, &a); err != nil || a.Action != "accept" && a.Action != "decline" && a.Action != "cancel" {
			return nil, invalid("The action of the answer must be accept, decline or cancel.")
		}
		return &a, nil
	}
	var a wire.PermissionAnswer
	if err := json.Unmarshal(raw, &a); err != nil || a.Behavior != wire.BehaviorAllow && a.Behavior != wire.BehaviorDeny {
		return nil, invalid("The behavior of the answer must be allow or deny.")
	}
	if len(a.UpdatedInput) > 0 && q.Kind != "question" {
		return nil, invalid("updatedInput is only for answers to the agent's questions: a call is allowed as it was shown, or denied.")
	}
	var asked wire.CanUseTool
	if err := json.Unmarshal(q.Request, &asked); err != nil {
		return nil, err
	}
	for _, u := range a.UpdatedPermissions {
		if err := mayUpdate(u); err != nil {
			return nil, err
		}
		if what := headless.NotSuggested(&asked, u); what != "" {
			return nil, &Problem{status: http.StatusForbidden, Code: "not_suggested", Message: fmt.Sprintf("The question does not suggest %s. Send permission changes as the question suggests them.", what)}
		}
	}
	return &a, nil
}

// mayUpdate refuses changes of the permissions that belong to the terminal.
func mayUpdate(u wire.PermissionUpdate) error {
	if what := headless.TerminalOnly(u); what != "" {
		return &Problem{status: http.StatusForbidden, Code: "terminal_only", Message: what + " is only possible in a terminal."}
	}
	return nil
}

// mayPermit refuses rules of a device that is not fully trusted, unless they end with the
// session.
func mayPermit(r *http.Request, destination string) error {
	if d := deviceOf(r); d != nil && !d.Full && destination != "session" {
		return &Problem{status: http.StatusForbidden, Code: "not_allowed", Message: fmt.Sprintf("This device may not change %s. Allow the call once or for this session.", destination)}
	}
	return nil
}
