package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/test/strictapi"
)

// Options say what a server plays.
type Options struct {
	// Answer returns the answers; nil plays Scenario.
	Answer AnswerFunc
	// Scenario is what is played if Answer is nil; nil says "Done." to everything.
	Scenario *Scenario
	// Addr is the address to listen on; "" means any free port of 127.0.0.1.
	Addr string
	// Listener, if set, is used in place of Addr. The server closes it.
	Listener net.Listener
	// Keep is how many of the newest requests [Server.Requests] remembers; 0 means 100, a
	// negative number none.
	Keep int
	// Unchecked accepts any request, which saves a benchmark the time to check them. Otherwise
	// the server refuses requests that the Messages API would refuse.
	Unchecked bool
}

// A Server serves a scripted model.
type Server struct {
	url    string
	http   *http.Server
	answer AnswerFunc
	done   chan struct{}

	mu       sync.Mutex
	keep     int
	requests []*Request // the newest, oldest first
	total    int

	judge *judge // nil takes any request
}

// Serve starts a server.
func Serve(opts *Options) (*Server, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Answer == nil {
		if o.Scenario == nil {
			o.Scenario = &Scenario{}
		}
		o.Answer = o.Scenario.Answer()
	}
	if o.Listener == nil {
		var err error
		if o.Listener, err = listen(o.Addr); err != nil {
			return nil, fmt.Errorf("serve scripted model: %w", err)
		}
	}
	if o.Keep == 0 {
		o.Keep = 100
	}
	s := &Server{url: "http://" + o.Listener.Addr().String(), answer: o.Answer, done: make(chan struct{}), keep: max(o.Keep, 0)}
	if !o.Unchecked {
		s.judge = &judge{memory: strictapi.NewMemory()}
	}
	s.http = &http.Server{Handler: s.routes(), ErrorLog: log.New(io.Discard, "", 0)} // clients that leave are no news
	go func() {
		defer close(s.done)
		_ = s.http.Serve(o.Listener) // ends by Close
	}()
	return s, nil
}

func listen(addr string) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	return net.Listen("tcp", addr)
}

// URL returns the base address, for ANTHROPIC_BASE_URL; for OPENAI_BASE_URL, append /v1.
func (s *Server) URL() string { return s.url }

// Close closes all connections and stops listening.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// Requests returns the remembered requests for answers, oldest first.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// Total returns how many requests for answers there have been.
func (s *Server) Total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Refused returns which requests the server refused as the Messages API would have, and why. A
// client may have recovered from a refusal since.
func (s *Server) Refused() []string { return s.judge.found() }

func (s *Server) remember(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	if s.keep == 0 {
		return
	}
	if len(s.requests) == s.keep {
		copy(s.requests, s.requests[1:])
		s.requests = s.requests[:s.keep-1]
	}
	s.requests = append(s.requests, r)
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { s.play(w, r, Messages) })
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.play(w, r, Chat) })
	mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) { s.play(w, r, Responses) })
	mux.HandleFunc("POST /v1/messages/count_tokens", countTokens)
	mux.HandleFunc("GET /v1/models", listModels)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, Messages, &Fault{Status: 404, Type: "not_found_error", Message: "the scripted model has no " + r.URL.Path})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Haft-Scripted", "true")
		mux.ServeHTTP(w, r)
	})
}

// play answers one request.
func (s *Server) play(w http.ResponseWriter, r *http.Request, api API) {
	body, err := readBody(r)
	if err != nil {
		panic(http.ErrAbortHandler) // the client has left
	}
	if body = bytes.TrimSpace(body); len(body) == 0 || length(body) != len(body) {
		refuse(w, api, &Fault{Status: 400, Type: "invalid_request_error", Message: "the body is not JSON"})
		return
	}
	q := newRequest(api, r, body)
	s.remember(q)
	if fault := s.judge.check(q); fault != nil {
		refuse(w, api, fault)
		return
	}
	turn := s.answer(q)
	if turn.Status != 0 || turn.Body != "" {
		refuse(w, api, &turn.Fault)
		return
	}
	a := newAnswer(q, turn)
	s.judge.learn(a)
	if !q.Stream {
		pause(r.Context(), turn.TTFT)
		writeJSON(w, 200, a.whole())
		return
	}
	newStream(r.Context(), w, a).play()
}

func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(r.Body)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

// refuse sends an error in the form of the API, or the fault's own body.
func refuse(w http.ResponseWriter, api API, f *Fault) {
	for name, value := range f.Headers {
		w.Header().Set(name, value)
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	if f.Body != "" {
		w.Header().Set("Content-Type", f.ContentType)
		w.WriteHeader(max(f.Status, 200))
		_, _ = io.WriteString(w, f.Body)
		return
	}
	writeJSON(w, f.Status, errorBody(api, f))
}

// errorBody is the JSON in which an API reports an error.
func errorBody(api API, f *Fault) map[string]any {
	what := map[string]any{"type": f.Type, "message": f.Message}
	if f.Type == "" {
		what["type"] = defaultType(f.Status)
	}
	if f.Message == "" {
		what["message"] = strings.TrimSpace(fmt.Sprintf("scripted failure %d", f.Status))
	}
	if api != Messages {
		return map[string]any{"error": what}
	}
	return map[string]any{"type": "error", "error": what}
}

func defaultType(status int) string {
	switch status {
	case 400:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 0, 529:
		return "overloaded_error"
	}
	return "api_error"
}

func countTokens(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	writeJSON(w, 200, map[string]any{"input_tokens": n / 4})
}

func listModels(w http.ResponseWriter, r *http.Request) {
	entry := map[string]any{
		"type": "model", "id": label, "display_name": "Scripted model", "created_at": "2026-01-01T00:00:00Z",
		"object": "model", "owned_by": "haft", "created": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix(),
	}
	writeJSON(w, 200, map[string]any{"object": "list", "data": []any{entry}, "has_more": false, "first_id": label, "last_id": label})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may leave
}
