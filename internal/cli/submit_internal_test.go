package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/attach"
	"github.com/haftdev/haft/internal/sys/handshake"
	"github.com/haftdev/haft/wire"
)

// A fakeServer is one that says of a session what a test wants.
type fakeServer struct {
	known   *handshake.Server
	events  chan string  // what the first stream of events sends
	streams atomic.Int32 // that there were

	mu      sync.Mutex
	outcome serve.Outcome
	open    []serve.Question
	said    []string // answers and cancellations
	asked   chan struct{}
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/events") {
		f.stream(w, r)
		return
	}
	if hello, err := f.known.Hello(r); r.URL.Path == handshake.Path && err == nil {
		_ = json.NewEncoder(w).Encode(hello)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var reply any
	switch {
	case r.Method == http.MethodDelete:
		f.said = append(f.said, "cancelled")
	case strings.HasSuffix(r.URL.Path, "/answers"):
		var a serve.Answer
		_ = json.NewDecoder(r.Body).Decode(&a) // it is the client's
		f.said = append(f.said, a.Question)
	case strings.HasSuffix(r.URL.Path, "/questions"):
		reply = serve.Questions{Questions: f.open}
		select {
		case f.asked <- struct{}{}:
		default:
		}
	default:
		reply = f.outcome
	}
	_ = json.NewEncoder(w).Encode(reply) // who has gone does not hear it
}

func (f *fakeServer) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if f.streams.Add(1) > 1 {
		fmt.Fprint(w, openEvent()) // the journal has no more
	}
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case e := <-f.events:
			fmt.Fprint(w, e)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fakeServer) set(out serve.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcome = out
}

func (f *fakeServer) heard() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.said)
}

// wireEvent is a message of the wire, and openEvent an event that says which questions are open.
func wireEvent(raw string) string { return "data: " + raw + "\n\n" }

func openEvent(ids ...string) string {
	all := serve.Questions{Questions: open(ids...)}
	raw, _ := json.Marshal(all) // strings can be encoded
	return "event: questions\ndata: " + string(raw) + "\n\n"
}

func open(ids ...string) (list []serve.Question) {
	for _, id := range ids {
		list = append(list, serve.Question{ID: id, Kind: "permission", Digest: "d", Request: json.RawMessage(`{}`)})
	}
	return list
}

// newSubmission is a prompt that a fake server has.
func newSubmission(t *testing.T, out io.Writer, onAsk string) (*submission, *fakeServer) {
	f := &fakeServer{known: handshake.NewServer("t"), events: make(chan string, 16), outcome: serve.Outcome{State: serve.OutcomeWaiting}, asked: make(chan struct{}, 1)}
	http := httptest.NewServer(f)
	t.Cleanup(http.Close)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	s := &submission{
		converseFlags: &converseFlags{Streams: Streams{Out: out, Err: io.Discard}, onAsk: onAsk}, server: &attach.Server{URL: http.URL, Token: "t"},
		session: "S", prompt: "P", heard: &messages{}, submitted: make(chan struct{}),
	}
	s.Output = "stream-json"
	close(s.submitted)
	s.questions = &unattended{submission: s, ctx: ctx, denies: true, known: map[string]bool{}, patience: time.Millisecond}
	return s, f
}

const (
	promptBegins = `{"type":"user","uuid":"P","session_id":"S","parent_tool_use_id":null,"message":{"role":"user","content":"x"}}`
	textSaid     = `{"type":"assistant","uuid":"A","session_id":"S","parent_tool_use_id":null,"message":{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}]}}`
	turnEnds     = `{"type":"result","uuid":"R","session_id":"S","subtype":"success","is_error":false,"result":"x"}`
)

// With --on-ask, questions of the prompt's own turn are denied, and those of other users are left
// to them: what was asked before the turn began, and what is asked after it has ended.
func TestOnlyQuestionsOfThePromptAreDenied(t *testing.T) {
	s, f := newSubmission(t, io.Discard, onAskDeny)
	for _, e := range []string{openEvent("before"), wireEvent(promptBegins), openEvent("before", "own")} {
		f.events <- e
	}
	f.set(serve.Outcome{State: serve.OutcomeWaiting, Begun: true})
	followed := make(chan error, 1)
	go func() {
		_, err := s.follow(t.Context())
		followed <- err
	}()
	for end := time.Now().Add(30 * time.Second); !s.questions.denied(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the question of the turn was not denied")
		}
	}
	f.set(serve.Outcome{State: serve.OutcomeDone})
	s.questions.deny(open("after")[0], "after d")
	f.events <- wireEvent(turnEnds)
	if err := <-followed; err != nil {
		t.Error(err)
	}
	if got := f.heard(); !slices.Equal(got, []string{"own"}) {
		t.Errorf("the server heard %q", got)
	}
}

// A prompt whose beginning cannot be shown yet, because nobody reads the output, is not taken for
// one that waits behind the question of another one.
func TestABlockedOutputCancelsNothing(t *testing.T) {
	in, out := io.Pipe()
	s, f := newSubmission(t, out, onAskFail)
	f.open = open("another")
	f.set(serve.Outcome{State: serve.OutcomeWaiting, Begun: true})
	for _, e := range []string{openEvent("another"), wireEvent(textSaid), wireEvent(promptBegins)} {
		f.events <- e
	}
	var end serve.Outcome
	followed := make(chan error, 1)
	go func() {
		var err error
		end, err = s.follow(t.Context())
		followed <- err
	}()
	select {
	case <-f.asked:
	case <-time.After(30 * time.Second):
		t.Fatal("nobody asks the server whether the question is open")
	}
	go func() { _, _ = io.Copy(io.Discard, in) }()
	f.set(serve.Outcome{State: serve.OutcomeDone, Result: json.RawMessage(turnEnds)})
	f.events <- wireEvent(turnEnds)
	if err := <-followed; err != nil {
		t.Error(err)
	}
	if err := s.finish(&end); err != nil || s.questions.gaveUp() || len(f.heard()) > 0 {
		t.Errorf("it ended with %v, and the server heard %q", err, f.heard())
	}
}

// A prompt behind the question of another one is cancelled with --on-ask=fail. If its turn was
// faster, its own result counts.
func TestAPromptBehindAQuestion(t *testing.T) {
	s, f := newSubmission(t, io.Discard, onAskFail)
	f.open = open("another")
	s.questions.foreign("gone")
	if s.questions.gaveUp() {
		t.Error("it was abandoned for a question that is not open")
	}
	s.questions.foreign("another")
	if !s.questions.gaveUp() {
		t.Error("it was not given up")
	}
	for state, want := range map[string]error{serve.OutcomeCancelled: codeError(exitDenied), serve.OutcomeDone: nil, serve.OutcomeLost: codeError(exitFailed)} {
		out := serve.Outcome{State: state}
		if state == serve.OutcomeDone {
			out.Result = json.RawMessage(turnEnds)
		}
		if got := s.finish(&out); got != want {
			t.Errorf("%s ends with %v, want %v", state, got, want)
		}
	}
}

// A client that comes to a turn late has only what is in the journal, and reports the same denials.
func TestDenialsAreToldFromTheJournalAlone(t *testing.T) {
	r := newRefusals()
	r.hear(&wire.CallStep{Step: "judged", ToolUseID: "1", Behavior: "deny", Reason: "a rule denies it"})
	r.hear(&wire.CallStep{Step: "judged", ToolUseID: "2", Behavior: "deny", Reason: "no one can approve it", Unasked: true, Remedy: " The rule Bash(ls) would allow it."})
	got := r.lines([]wire.PermissionDenial{{ToolName: "Write", ToolUseID: "1", ToolInput: []byte("{}")}, {ToolName: "Bash", ToolUseID: "2", ToolInput: []byte("{}")}})
	if want := []string{"denied Bash {}: no one can approve it. The rule Bash(ls) would allow it."}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
