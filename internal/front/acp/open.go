package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/world/mcp/config"
)

// openMethods are the requests that open sessions.
func (s *server) openMethods() map[string]method {
	return map[string]method{methodNew: {answer: s.newSession}, methodLoad: {answer: s.loadSession}, methodResume: {answer: s.resumeSession}, methodFork: {answer: s.forkSession}}
}

// newSession begins a session.
func (s *server) newSession(r *request) (any, func(), error) {
	return s.open(r, true, func(*place, *harness.TalkOptions) {}, nil)
}

// forkSession begins one that continues another, which stays as it is.
func (s *server) forkSession(r *request) (any, func(), error) {
	return s.open(r, true, func(p *place, t *harness.TalkOptions) { t.Resume, t.Fork = p.Session, true }, nil)
}

// resumeSession continues a session; the client knows what was said.
func (s *server) resumeSession(r *request) (any, func(), error) {
	return s.open(r, false, s.resuming, nil)
}

// loadSession continues a session, after it was told what was said.
func (s *server) loadSession(r *request) (any, func(), error) {
	return s.open(r, false, s.resuming, (*session).replay)
}

// resuming has a session continued. One that is open here is closed first: the client
// begins with it again, and it is written by one at a time.
func (s *server) resuming(p *place, t *harness.TalkOptions) {
	if ses := s.remove(p.Session); ses != nil {
		ses.close()
	}
	t.Resume = p.Session
}

// open opens a session. Before it is answered, the client is told what begin tells.
func (s *server) open(r *request, named bool, choose func(*place, *harness.TalkOptions), begin func(*session, context.Context)) (any, func(), error) {
	var p place
	if err := r.read(&p); err != nil {
		return nil, nil, err
	}
	if err := p.check(named); err != nil {
		return nil, nil, err
	}
	if err := s.reserve(); err != nil {
		return nil, nil, err
	}
	ses, err := s.start(r.ctx, &p, choose)
	if err != nil {
		s.admit(nil)
		return nil, nil, err
	}
	if begin != nil {
		begin(ses, r.ctx)
	}
	if !s.admit(ses) {
		ses.close()
		return nil, nil, errGone
	}
	reply := sessionReply{Modes: ses.modes(), Options: ses.options()}
	if named {
		reply.ID = ses.id
	}
	return reply, ses.announce, nil
}

// announce begins to tell the client what happens. It knows the session by now.
func (s *session) announce() {
	s.mu.Lock()
	begin := !s.closing
	s.started = begin
	s.mu.Unlock()
	if begin {
		s.tell.commands()
		go s.run()
		s.drive.Wake() // what opening it had to say
	}
}

// reserve makes room for a session.
func (s *server) reserve() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return errGone
	case len(s.sessions)+s.opening >= maxSessions:
		return errorf(codeInvalidRequest, "%d sessions are open; close one first.", maxSessions)
	}
	s.opening++
	return nil
}

// admit takes a session in, nil if it could not be opened. It reports false if the
// connection has ended meanwhile.
func (s *server) admit(ses *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
	if ses != nil && !s.ended {
		s.sessions[ses.id] = ses
	}
	return !s.ended
}

// remove takes a session out; nil if it is not open.
func (s *server) remove(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.sessions[id]
	delete(s.sessions, id)
	return ses
}

// serversTime is how long the first turn waits for MCP servers: the user counts on the
// tools that they bring.
const serversTime = 10 * time.Second

// start opens the world and the conversation of a session.
func (s *server) start(ctx context.Context, p *place, choose func(*place, *harness.TalkOptions)) (*session, error) {
	h, t := s.opts.Harness, s.opts.Talk
	h.Dir = p.Cwd
	h.AddDirs = slices.Concat(h.AddDirs, p.Dirs)
	choose(p, &t)
	client := s.capabilities()
	ses := newSession(s, client)
	t.Person, t.Interactive, t.Version, t.Driver = &asker{ses}, true, s.opts.Version, ses.drive
	t.MCP.Entries, t.MCP.Wait = slices.Concat(t.MCP.Entries, entries(p.Servers)), serversTime
	if client.Elicitation.Form != nil || client.Elicitation.URL != nil {
		t.MCP.Elicit = ses.elicit
	}
	if client.FS.ReadTextFile {
		h.Unsaved = ses.unsaved
	}
	w, err := harness.Open(&h)
	if err != nil {
		return nil, err
	}
	talk, err := w.Talk(ctx, &t)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	ses.begin(talk)
	return ses, nil
}

func newSession(srv *server, client *capabilities) *session {
	s := &session{srv: srv, client: client, drive: drive.New(&drive.Options{OneSession: true}), prompts: make(map[string]*prompt), done: make(chan struct{})}
	s.ctx, s.stop = context.WithCancel(srv.context)
	return s
}

// begin takes the conversation.
func (s *session) begin(talk *harness.Conversation) {
	s.talk, s.id = talk, talk.Agent.Session()
	s.tell = newTeller(s)
	s.drive.Begin(talk)
}

// entries are the client's MCP servers as settings would have them.
func entries(servers []mcpServer) []config.Entry {
	var list []config.Entry
	for _, m := range servers {
		entry := map[string]any{"type": m.Type, "url": m.URL, "headers": values(m.Headers)}
		if m.Type == "" || m.Type == "stdio" {
			entry = map[string]any{"type": "stdio", "command": m.Command, "args": append([]string{}, m.Args...), "env": values(m.Env)}
		}
		raw, err := plainjson.Marshal(entry)
		if err != nil {
			raw = json.RawMessage("{}") // plain values can be encoded
		}
		list = append(list, config.Entry{Name: m.Name, Raw: raw, Scope: "dynamic", Origin: "the editor"})
	}
	return list
}

func values(list []variable) map[string]string {
	out := make(map[string]string)
	for _, v := range list {
		out[v.Name] = v.Value
	}
	return out
}

// unsavedTime is how long an editor may take to say what a file looks like in it.
const unsavedTime = 2 * time.Second

// unsaved asks the editor for a file as it has it, which may not be saved yet. An editor
// that does not answer has nothing to say about it.
func (s *session) unsaved(ctx context.Context, path string) (text string, ok bool) {
	s.drive.CatchUp(ctx)
	ctx, cancel := context.WithTimeout(ctx, unsavedTime)
	defer cancel()
	var reply struct {
		Content *string `json:"content"`
	}
	err := s.srv.conn.call(ctx, methodReadFile, map[string]any{"sessionId": s.id, "path": path}, &reply)
	if err != nil || reply.Content == nil {
		return "", false
	}
	return *reply.Content, true
}
