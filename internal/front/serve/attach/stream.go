package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/sys/linelimit"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// A Stream is a session of a server, as messages. The first one that is written to it must
// be an observe request, as to the channel of a session.
type Stream struct {
	server *Server
	row    serve.Session // as it was found
	ctx    context.Context
	stop   context.CancelFunc
	news   chan news

	mu      sync.Mutex
	answers bool              // questions are asked here
	upToNow bool              // it ends when everything that there is was told
	running bool              // the session was seen to run
	last    string            // the position of the last event
	asked   map[string]*asked // by the id of the question
	end     error             // why there is no more

	told bool // which questions are open is told, besides messages
}

// news are a message, or which questions are open now. They come in the order of the server.
type news struct {
	message   wire.Message
	questions []serve.Question // if there is no message
}

// asked is a question that is open here.
type asked struct {
	serve.Question
	request string // the id of the request that asks it
}

// Close ends the stream.
func (s *Stream) Close() error {
	s.stop()
	return nil
}

// Read returns the next message.
func (s *Stream) Read() (wire.Message, error) {
	for {
		n, err := s.next()
		if err != nil || n.message != nil {
			return n.message, err
		}
	}
}

// next returns what comes next.
func (s *Stream) next() (news, error) {
	select {
	case n := <-s.news:
		return n, nil
	case <-s.ctx.Done():
	}
	select {
	case n := <-s.news: // what came before the end
		return n, nil
	default:
		return news{}, io.EOF
	}
}

// Err is why the stream ended before the session and the terminal did; nil if it did not.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// tell hands a message to the reader.
func (s *Stream) tell(m wire.Message) { s.put(news{message: m}) }

func (s *Stream) put(n news) {
	select {
	case s.news <- n:
	case <-s.ctx.Done():
	}
}

// remark tells the user something about the connection.
func (s *Stream) remark(text string) {
	s.tell(&wire.Informational{Stamp: wire.Stamp{UUID: session.NewUUID(), SessionID: s.row.ID}, Level: "warning", Content: text})
}

// Write sends a message of the terminal.
func (s *Stream) Write(m wire.Message) error {
	switch m := m.(type) {
	case *wire.User:
		return s.prompt(m)
	case *wire.ControlRequest:
		go s.serve(m)
	case *wire.ControlResponse:
		s.answer(m.Response)
	}
	return nil
}

// path is that of an operation on the session.
func (s *Stream) path(operation string) string {
	return sessionPath(s.row.ID) + operation
}

// prompt sends a prompt. One whose answer is lost is sent again and counts once.
func (s *Stream) prompt(m *wire.User) error {
	text := []string{m.Message.Content.Text}
	for _, b := range m.Message.Content.Blocks {
		var block struct {
			Text string `json:"text"`
		}
		if raw, err := json.Marshal(b); err == nil && json.Unmarshal(raw, &block) == nil {
			text = append(text, block.Text)
		}
	}
	p := serve.Prompt{UUID: m.UUID, Text: strings.TrimSpace(strings.Join(text, "\n"))}
	err := s.server.call(s.ctx, http.MethodPost, s.path("/prompts"), p, nil)
	if refusal := (*serve.Problem)(nil); err != nil && !errors.As(err, &refusal) {
		err = s.server.call(s.ctx, http.MethodPost, s.path("/prompts"), p, nil)
	}
	if err != nil {
		s.remark("The prompt was not sent: " + err.Error())
	}
	return nil
}

// serve answers a request of the terminal.
func (s *Stream) serve(m *wire.ControlRequest) {
	var reply any
	var err error
	switch r := m.Request.(type) {
	case *wire.Observe:
		reply, err = s.observe(r)
	case *wire.Interrupt:
		err = s.server.call(s.ctx, http.MethodPost, s.path("/interrupt"), nil, nil)
		if p := (*serve.Problem)(nil); errors.As(err, &p) && p.Code == "not_running" {
			err = nil // there is nothing to stop
		}
	default:
		err = wire.Unsupported(r)
	}
	out := wire.Response{Subtype: "success", RequestID: m.RequestID}
	if err == nil {
		out.Response, err = json.Marshal(reply)
	}
	if err != nil {
		out = wire.Response{Subtype: "error", RequestID: m.RequestID, Error: err.Error()}
	}
	s.tell(&wire.ControlResponse{Response: out})
}

// observe begins to read events.
func (s *Stream) observe(r *wire.Observe) (wire.ObserveReply, error) {
	from := r.From
	if from == "end" {
		var err error
		if from, err = s.server.Position(s.ctx, s.row.ID); err != nil {
			return wire.ObserveReply{}, err
		}
	}
	s.mu.Lock()
	s.answers, s.last, s.running = r.Answers, from, s.row.Running
	s.mu.Unlock()
	go s.follow()
	return wire.ObserveReply{
		SessionID: s.row.ID, Cwd: s.row.Cwd, Model: s.row.Model, PermissionMode: s.row.Mode, PID: s.row.PID,
		Busy: s.row.State == serve.Working || s.row.State == serve.Asks,
	}, nil
}

// How long a connection may be silent, how long it is tried again after it was lost, and
// the time between attempts. The server sends something every 15 seconds.
const (
	silence   = 45 * time.Second
	retryTime = time.Minute
	retryStep = 500 * time.Millisecond
)

// errOver says that the session has ended.
var errOver = errors.New("the session has ended")

// follow reads events until the session or the terminal ends.
func (s *Stream) follow() {
	defer s.stop()
	lost := time.Time{}
	for {
		connected, err := s.events()
		var refusal *serve.Problem
		if s.ctx.Err() != nil || errors.Is(err, errOver) {
			return
		}
		final := errors.Is(err, linelimit.ErrLong) || errors.As(err, &refusal) && refusal.Code != "ended" && refusal.Code != "too_many_streams"
		if !final && (connected || lost.IsZero()) {
			lost = time.Now()
			s.remark("The connection to the server was lost. Reconnecting.")
		}
		if final || time.Since(lost) > retryTime {
			s.mu.Lock()
			s.end = err
			s.mu.Unlock()
			return
		}
		select {
		case <-time.After(retryStep):
		case <-s.ctx.Done():
		}
	}
}

// events reads one connection to its end; connected says that there was one.
func (s *Stream) events() (connected bool, err error) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	resp, err := s.server.request(ctx, http.MethodGet, s.path("/events?after="+url.QueryEscape(last)), nil)
	if err != nil {
		return false, Unreachable(s.server.URL, err)
	}
	defer resp.Body.Close()
	if err := refused(resp); err != nil {
		return false, err
	}
	in := bufio.NewReaderSize(linelimit.Reader(resp.Body), 64<<10)
	var e struct {
		name, id string
		data     []byte
	}
	for {
		line, err := in.ReadString('\n')
		if err == nil && len(e.data)+len(line) > linelimit.Max {
			err = linelimit.ErrLong // one event in many lines
		}
		if err != nil {
			return true, fmt.Errorf("read the events from %s: %w", s.server.URL, err)
		}
		quiet.Reset(silence)
		field, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n" && len(e.data) > 0:
			if err := s.event(e.name, e.id, e.data); err != nil {
				return true, err
			}
			fallthrough
		case line == "\n":
			e.name, e.id, e.data = "", "", nil
		case field == "event":
			e.name = value
		case field == "id":
			e.id = value
		case field == "data":
			e.data = append(e.data, value...)
		}
	}
}

// event takes one.
func (s *Stream) event(name, id string, data []byte) error {
	switch name {
	case "":
		m, err := wire.Decode(data)
		if err != nil {
			return nil // a newer server says what is not known here
		}
		s.tell(m)
		if id != "" {
			s.mu.Lock()
			s.last = id
			s.mu.Unlock()
			s.tell(&wire.JournalPosition{Stamp: wire.Stamp{UUID: session.NewUUID(), SessionID: s.row.ID}, Position: id})
		}
	case "questions":
		var all serve.Questions
		if err := json.Unmarshal(data, &all); err != nil {
			return fmt.Errorf("read the questions: %w", err)
		}
		s.ask(all.Questions)
		if s.told {
			s.put(news{questions: all.Questions})
		}
		if s.upToNow {
			return errOver // they come after what the journal has
		}
	case "session":
		var row serve.Session
		if err := json.Unmarshal(data, &row); err != nil {
			return fmt.Errorf("read the session: %w", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running && !row.Running {
			return errOver
		}
		s.running = s.running || row.Running
	}
	return nil
}

// ask asks what is open and not asked here yet, and takes back what is open no more.
func (s *Stream) ask(open []serve.Question) {
	s.mu.Lock()
	if !s.answers {
		s.mu.Unlock()
		return
	}
	var say []wire.Message
	still := map[string]bool{}
	for _, q := range open {
		still[q.ID] = true
		if old := s.asked[q.ID]; old != nil && old.Digest == q.Digest {
			continue
		} else if old != nil {
			say = append(say, &wire.ControlCancelRequest{RequestID: old.request})
		}
		if len(s.asked) >= maxAsked {
			continue // each waits in a goroutine of its own; the rest comes when some are answered
		}
		if m := s.askLocked(q); m != nil {
			say = append(say, m)
		}
	}
	for id, old := range s.asked {
		if !still[id] {
			delete(s.asked, id)
			say = append(say, &wire.ControlCancelRequest{RequestID: old.request})
		}
	}
	s.mu.Unlock()
	for _, m := range say {
		s.tell(m)
	}
}

// maxAsked is how many questions are open here at the same time.
const maxAsked = 100

// askLocked notes a question and returns the request that asks it; nil if it cannot be
// asked here.
func (s *Stream) askLocked(q serve.Question) wire.Message {
	var request wire.Request = &wire.CanUseTool{}
	if q.Kind == "elicitation" {
		request = &wire.Elicitation{}
	}
	if json.Unmarshal(q.Request, request) != nil {
		return nil
	}
	a := &asked{q, session.NewUUID()}
	s.asked[q.ID] = a
	return &wire.ControlRequest{RequestID: a.request, Request: request}
}

// answer sends what the user has answered.
func (s *Stream) answer(r wire.Response) {
	s.mu.Lock()
	var q *asked
	for _, a := range s.asked {
		if a.request == r.RequestID {
			q = a
		}
	}
	s.mu.Unlock()
	if q == nil || r.Subtype != "success" {
		return // it was taken back
	}
	go func() {
		err := s.server.Answer(s.ctx, s.row.ID, &serve.Answer{Question: q.ID, Digest: q.Digest, Answer: r.Response})
		if err == nil {
			return
		}
		var p *serve.Problem
		if errors.As(err, &p) && (p.Code == "answered" || p.Code == "withdrawn") {
			s.remark(p.Message)
			return
		}
		s.remark("The answer was not accepted: " + err.Error())
		s.mu.Lock()
		var again wire.Message
		if s.asked[q.ID] == q {
			again = s.askLocked(q.Question)
		}
		s.mu.Unlock()
		if again != nil {
			s.tell(again)
		}
	}()
}
