package serve

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// A Backend is where the sessions are and who leads them: this machine, or a fleet of
// others. It is safe for concurrent use. Its errors may be a [Problem]; one that is
// [session.ErrNotFound] says that there is no such session.
type Backend interface {
	// List returns sessions, those that were written to last first, as [session.Store.List]
	// does. Those in which nothing was said yet may be missing.
	List(ctx context.Context, o *session.ListOptions) ([]session.Info, error)
	// Info returns what a list would tell about one session, which is named by its whole id.
	Info(ctx context.Context, id string) (session.Info, error)
	// Refresh brings the file of a session's journal up to date. A [Problem] says that it
	// cannot be read any more.
	Refresh(ctx context.Context, id string) error
	// Status says how a session is whose journal is at path.
	Status(id, path string) Status
	// Dial connects to the process that leads a session, as an observer. The error is
	// [live.ErrNotRunning] if there is none that can be reached.
	Dial(ctx context.Context, id, path string) (*Conn, error)
	// Watch reports what happens to a session until ctx ends, besides what the process that
	// leads it says by its connection.
	Watch(ctx context.Context, id string, w Watcher)

	// Create begins a session.
	Create(ctx context.Context, id string, in *NewSession) error
	// Began returns what a session was created with: its mode, its model, its title, its flags, and
	// whether no one is asked.
	Began(ctx context.Context, id string) (*NewSession, error)
	// Prompt sends a prompt to a session, which is resumed if nobody leads it. Duplicate says
	// that it was taken before.
	Prompt(ctx context.Context, id string, m *wire.User) (duplicate bool, err error)
	// Outcome says what became of a prompt. The error is [ErrNoPrompt] if there was none of
	// this name.
	Outcome(ctx context.Context, id, prompt string) (Outcome, error)
	// Call makes a request of the process that leads a session.
	Call(ctx context.Context, id string, r wire.Request, reply any) error
	// Close ends the process of a session. What waits is not run.
	Close(ctx context.Context, id string) error
	// Delete deletes a session for good.
	Delete(ctx context.Context, id string) error
	// Fork copies a session up to a message, "" being the last, and returns the copy's id.
	Fork(ctx context.Context, id, at string) (string, error)
	// Rewind brings files back.
	Rewind(ctx context.Context, id, path string, in *Rewind) (Rewound, error)
	// Speak lets a program lead a conversation over a connection, and ends with it.
	Speak(ctx context.Context, l *Launching, conn io.ReadWriter)
}

// A Status is how a session is, as far as its journal does not say.
type Status struct {
	// Running says that a process leads it, PID which one if it is on this machine, and Led
	// that it does so for this server.
	Running bool
	PID     int
	Led     bool
	// Working says that a turn runs or waits to be run.
	Working bool
	// Failed is why the session cannot continue; "" if it can.
	Failed string
}

func (s Status) fill(row *Session) { row.Running, row.PID, row.Led = s.Running, s.PID, s.Led }

// A Conn is the connection of an observer.
type Conn struct {
	wire.Stream
	io.Closer
	// PID and Led are those of [Status].
	PID int
	Led bool
	// Asks says that the process asks its observers. Otherwise questions come by
	// [Watcher.Ask].
	Asks bool
}

// A Watcher is told what happens to a session.
type Watcher struct {
	// Poke says that the journal may have grown.
	Poke func()
	// Tell tells a message that the journal does not have.
	Tell func(wire.Message)
	// Ask puts a question, a can_use_tool or elicitation request, to the clients until ctx
	// ends. Settle is called with the first answer; its error is a [Problem] if an answer
	// from elsewhere was faster.
	Ask func(ctx context.Context, r wire.Request, settle func(answer any) error)
}

// A Launching is the first line of a program that leads a conversation here: what it
// would give to a child process.
type Launching struct {
	Args []string `json:"args"`
	Dir  string   `json:"dir"`
}

// ErrNoPrompt is the error for a prompt that was never sent.
var ErrNoPrompt = Refused(http.StatusNotFound, "no_prompt", "The session has no prompt with this UUID.")

// Refused returns a problem.
func Refused(status int, code, message string) *Problem {
	return &Problem{status: status, Code: code, Message: message}
}

// Answered returns the problem of an answer that was not the first.
func Answered(by string, answer json.RawMessage) *Problem {
	var a struct{ Behavior, Action string }
	_ = json.Unmarshal(answer, &a) // what cannot be read is not shown
	if a.Behavior == "" {
		a.Behavior = a.Action
	}
	return wasAnswered(by, a.Behavior)
}
