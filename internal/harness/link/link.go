// Package link is how the parts of a harness reach the conversation, once there is
// one: what happens is shown in it, and its journal keeps their states.
//
//	l := link.New(notice)
//	l.Warn("settings", "…")      // kept until there is a conversation
//	l.Begin(journal); l.Attach(a)
//
// The parts hold a Link and know no conversation; a conversation attaches itself. A
// Link is safe for concurrent use.
package link

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// A Link leads from the parts of a harness to its conversation.
type Link struct {
	before  func(agent.Notice) // shows notices while there is no conversation; nil keeps them
	agent   atomic.Pointer[agent.Agent]
	journal atomic.Pointer[session.Session]

	mu    sync.Mutex
	early []agent.Notice
	told  map[string]bool
}

// New returns a link to no conversation yet. Notices go to before until there is one;
// nil keeps them for it.
func New(before func(agent.Notice)) *Link { return &Link{before: before} }

// Begin makes a session the one whose journal keeps states, and returns the one before
// it; nil if there was none.
func (l *Link) Begin(s *session.Session) (before *session.Session) { return l.journal.Swap(s) }

// Attach makes an agent the one that is told what happens, first what was kept for it.
func (l *Link) Attach(a *agent.Agent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ev := range l.early {
		a.Emit(ev)
	}
	l.early = nil
	l.agent.Store(a)
}

// Agent is the agent of the conversation; nil if there is none.
func (l *Link) Agent() *agent.Agent { return l.agent.Load() }

// Journal is the session of the conversation; nil if there is none.
func (l *Link) Journal() *session.Session { return l.journal.Load() }

// Hold is the file that outlives this process together with its commands: a process
// that resumes the session waits for it. It is nil without a session.
func (l *Link) Hold() (*os.File, error) {
	if s := l.Journal(); s != nil {
		return s.Hold()
	}
	return nil, nil
}

// Emit shows what happens beside the conversation. Without one only notices are kept.
func (l *Link) Emit(ev agent.Event) {
	if n, ok := ev.(agent.Notice); ok {
		l.notice(n)
		return
	}
	if a := l.Agent(); a != nil {
		a.Emit(ev)
	}
}

// Notify tells the model that a task in the background has ended.
func (l *Link) Notify(t agent.Task) {
	if a := l.Agent(); a != nil {
		a.Notify(t)
	}
}

// Spend counts what a model used beside the conversation as the conversation's.
func (l *Link) Spend(name string, u model.Usage) {
	if a := l.Agent(); a != nil {
		a.Spend(name, u)
	}
}

// Say sends the model a text that is not the user's.
func (l *Link) Say(text string) {
	if a := l.Agent(); a != nil {
		a.Send(agent.Prompt{Origin: agent.TaskNotification, Content: []model.Block{model.TextOf(text)}})
	}
}

// Warn tells the user about something that is wrong, the first time.
func (l *Link) Warn(tag, text string) {
	l.mu.Lock()
	known := l.told[text]
	if l.told == nil || len(l.told) >= mostTold {
		l.told = make(map[string]bool)
	}
	l.told[text] = true
	l.mu.Unlock()
	if !known {
		l.notice(agent.Notice{Level: "warning", Tag: tag, Text: text})
	}
}

// mostTold bounds what is remembered: a warning that is always another one must
// not fill the memory of a session that runs for days.
const mostTold = 1024

// WarnKnowledge tells the user what is wrong with what they wrote for models.
func (l *Link) WarnKnowledge(problems []knowledge.Problem) {
	for _, p := range problems {
		l.Warn("knowledge", p.String())
	}
}

// Tell tells the user what is worth knowing; empty texts are left out.
func (l *Link) Tell(texts ...string) {
	for _, text := range texts {
		if text != "" {
			l.notice(agent.Notice{Level: "notice", Text: text})
		}
	}
}

// notice tells the user something, now or as soon as there is a conversation.
func (l *Link) notice(ev agent.Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch a := l.Agent(); {
	case a != nil:
		a.Emit(ev)
	case l.before != nil:
		l.before(ev)
	case len(l.early) < mostTold:
		l.early = append(l.early, ev)
	}
}

// Save keeps a state of the session in its journal.
func (l *Link) Save(name string, value any) {
	l.save(name, value, func(s *session.Session, e session.Entry) error { return s.Append(context.Background(), e) })
}

// SaveSoon is Save for what is worth nothing without the entry that follows; see [session.Session.AppendSoon].
func (l *Link) SaveSoon(name string, value any) {
	l.save(name, value, func(s *session.Session, e session.Entry) error { return s.AppendSoon(e) })
}

func (l *Link) save(name string, value any, add func(*session.Session, session.Entry) error) {
	s := l.Journal()
	if s == nil || l.Agent() == nil {
		return // it is still being opened: what it holds is what it was left with
	}
	raw, err := json.Marshal(value)
	if err == nil {
		err = add(s, session.Entry{State: &session.State{Name: name, Value: raw}})
	}
	if err != nil && !errors.Is(err, session.ErrFenced) && !errors.As(err, new(*session.InUseError)) { // it is another process's now
		l.Warn("session", "Could not save the session's state ("+name+"): "+err.Error())
	}
}
