package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/sys/handshake"
	"github.com/haftdev/haft/internal/sys/linelimit"
	"github.com/haftdev/haft/wire"
)

// hostile is a server that answers everything in one way.
func hostile(t *testing.T, answer http.HandlerFunc) *Server {
	t.Helper()
	const token = "the token"
	known := handshake.NewServer(token)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hello, err := known.Hello(r); r.URL.Path == handshake.Path && err == nil {
			_ = json.NewEncoder(w).Encode(hello)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(h.CloseClientConnections) // first, or Close waits for those that never end
	t.Cleanup(h.Close)
	return &Server{URL: h.URL, Token: token}
}

// send writes until the client has gone, and returns how much that was.
func send(w io.Writer, piece string) (sent int) {
	for {
		n, err := io.WriteString(w, piece)
		if sent += n; err != nil || sent > 64*linelimit.Max {
			return sent
		}
	}
}

// TestAnEventWithoutEndEndsTheStream fills no memory and does not connect again.
func TestAnEventWithoutEndEndsTheStream(t *testing.T) {
	for name, piece := range map[string]string{
		"one line":   strings.Repeat("a", 1<<20),
		"many lines": "data: " + strings.Repeat("a", 1<<20) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			sent := make(chan int, 100)
			s := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "data: ")
				sent <- send(w, piece)
			})
			err := s.Follow(t.Context(), &Following{ID: "x", Each: func(m wire.Message) bool {
				t.Errorf("heard %+v", m)
				return true
			}})
			if !errors.Is(err, linelimit.ErrLong) || !strings.Contains(err.Error(), s.URL) {
				t.Errorf("error %v", err)
			}
			if n := <-sent; n > 2*linelimit.Max || len(sent) > 0 {
				t.Errorf("%d bytes were read, and again on %d connections", n, len(sent))
			}
		})
	}
}

// TestStrangeEventsAreSkipped: what comes after them is heard.
func TestStrangeEventsAreSkipped(t *testing.T) {
	s := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "\n\n: comment\nid\ndata\n\nfoo: bar\n\x00\xff\n\ndata: null\n\ndata: {}\n\n")
		fmt.Fprintf(w, "id: 9\ndata: %s\n\n", strings.Repeat(`{"type":`, 1_000_000))
		fmt.Fprintf(w, "id: 8\ndata: {\"type\":\"assistant\",\"message\":%s\n\n", strings.Repeat("[", 1_000_000))
		for i := 1000; ; i-- { // backwards and without end
			if _, err := fmt.Fprintf(w, "id: %d\ndata: {\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"c\",\"level\":\"info\",\"uuid\":\"u\",\"session_id\":\"s\"}\n\n", i); err != nil {
				return
			}
		}
	})
	heard := 0
	err := s.Follow(t.Context(), &Following{ID: "x", Each: func(m wire.Message) bool {
		if i, ok := m.(*wire.Informational); ok && i.Content == "c" {
			heard++
		}
		return heard < 2000
	}})
	if err != nil || heard != 2000 {
		t.Errorf("%d messages were heard, error %v", heard, err)
	}
}

// TestTheTokenGoesNowhereElse: no request follows a redirect.
func TestTheTokenGoesNowhereElse(t *testing.T) {
	elsewhere := hostile(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was asked with %v", r.URL, r.Header) })
	s := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	_, err := s.Find(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("Find: %v", err)
	}
	if err := s.Change(t.Context(), "x", &serve.SessionChange{Model: "m"}); err == nil {
		t.Error("a redirect counts as done")
	}
}

// TestAnswersAreBounded: a server that does not answer, or does not stop to, is given up with a reason.
func TestAnswersAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"silence":       {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "it took longer than 1s"},
		"drops":         {func(w http.ResponseWriter, _ *http.Request) { drip(w) }, "it took longer than 1s"},
		"blanks":        {func(w http.ResponseWriter, _ *http.Request) { send(w, strings.Repeat(" ", 1<<20)) }, "http://127.0.0.1"}, // either bound
		"nesting":       {func(w http.ResponseWriter, _ *http.Request) { send(w, strings.Repeat("[", 1<<20)) }, "Is it haft serve?"},
		"garbage":       {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, "Is it haft serve?"},
		"another shape": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"id":5}`) }, "Is it haft serve?"},
		"no id":         {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{}`) }, "which is not a session id"},
		"escapes":       {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"id":"a\u001b[2J"}`) }, "which is not a session id"},
		"a command":     {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"id":"a;reboot"}`) }, "which is not a session id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := hostile(t, c.answer)
			s.patience = time.Second
			begin := time.Now()
			row, err := s.Get(t.Context(), "x")
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsRune(err.Error(), 0x1b) {
				t.Errorf("%+v, error %v", row, err)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// drip answers with a blank now and then.
func drip(w http.ResponseWriter) {
	for {
		if _, err := io.WriteString(w, " "); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestQuestionsAreBounded: each open question costs a goroutine at the front end.
func TestQuestionsAreBounded(t *testing.T) {
	s := (&Server{}).Open(t.Context(), serve.Session{ID: "x"})
	defer s.Close()
	s.answers = true
	var all []serve.Question
	for i := range 10_000 {
		all = append(all, serve.Question{ID: fmt.Sprint(i), Digest: "d", Kind: "permission", Request: []byte(`{"subtype":"can_use_tool"}`)})
	}
	told := make(chan int)
	go func() {
		n := 0
		for {
			if _, err := s.Read(); err != nil {
				told <- n
				return
			}
			n++
		}
	}()
	s.ask(all)
	s.Close()
	if n := <-told; n != maxAsked {
		t.Errorf("%d questions were asked", n)
	}
}
