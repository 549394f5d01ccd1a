package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/shellrun"
)

// Options configure a Host. A nil *Options means all zero values.
type Options struct {
	// Name and Version are what servers are told; "" means haft and "dev".
	Name, Version string

	// Runner starts server processes and owns what they start, also when the
	// harness is killed. Nil means process groups, which a killed harness leaves
	// behind.
	Runner shellrun.Runner
	// Box says what the process of a server may touch; nil, and a nil answer, mean
	// everything. The Runner must be able to confine.
	Box func(Server) *sandbox.Spec
	// Environ is the harness's environment, of which servers get a harmless
	// part; nil means os.Environ.
	Environ []string
	// Dir is where server processes run; "" means the current directory.
	Dir string

	// HTTP is the transport under that of Auth; nil means one made for this.
	HTTP http.RoundTripper
	// Auth adds credentials to the requests of HTTP servers; nil adds none.
	Auth Auth
	// Send carries the messages of in-process servers; nil means that there are none.
	Send SendFunc

	// Approve says whether a server may be started; nil approves all. It is
	// asked before each start.
	Approve func(Server) Verdict

	// Elicit asks the user for what a server wants to know; nil means that
	// servers are told that nobody can be asked.
	Elicit func(context.Context, Elicitation) (Answer, error)
	// Sampling lets servers use the model; nil means that they cannot.
	Sampling *Sampling
	// Roots are the directories that servers are told about; see [Host.SetRoots].
	Roots []string

	// OnChange is called after servers, tools, prompts or resources changed. A
	// burst of changes is one call, calls do not overlap, and Close waits for the
	// last one. Nil means nobody cares.
	OnChange func()
	// OnTask is called with a call that has become a task at its server, before it is
	// waited for: a caller that keeps it can get the result after a crash, by
	// [Host.Resume]. Nil means nobody does.
	OnTask func(Task)
	// OnUpdate is called when a resource changed that was subscribed to.
	OnUpdate func(server, uri string)
	// OnMessage sees every message of every server's wire, in either direction;
	// it must not keep or change it. Nil means nobody looks.
	OnMessage func(server string, sent bool, message []byte)

	// CacheDir keeps which era a server speaks and what it offered between runs;
	// "" means that nothing is kept.
	CacheDir string

	// StartTimeout, IdleTimeout and CallTimeout are those of servers that set
	// none; 0 means 30 s, 5 min (30 min for stdio) and 28 h.
	StartTimeout, IdleTimeout, CallTimeout time.Duration
	// MaxResult is how many characters the results of servers and tools have that set no
	// limit of their own; 0 means that of every other tool.
	MaxResult int
	// ProbeTimeout is how long a server may be silent when asked for its era
	// before it is taken for an old one; 0 means 1.5 s.
	ProbeTimeout time.Duration
	// MaxMessage bounds one message in bytes; 0 means 64 MiB.
	MaxMessage int

	// Log receives what a maintainer may want to know; nil drops it.
	Log *slog.Logger
}

// A SendFunc carries a JSON-RPC message to an in-process server and returns the
// server's reply, which is ignored for a notification.
type SendFunc func(ctx context.Context, server string, message json.RawMessage) (json.RawMessage, error)

// Auth supplies the credentials of HTTP servers.
type Auth interface {
	// Transport returns a RoundTripper that authorises requests to the server and
	// hands them to base. One that cannot (nobody is logged in, the login has
	// expired) returns the server's 401 or 403 as it is, or an error that wraps
	// [ErrNeedsAuth]: the server's status becomes needs-auth.
	Transport(server Server, base http.RoundTripper) (http.RoundTripper, error)
}

// ErrNeedsAuth means that a user must log in before a server can be used.
var ErrNeedsAuth = errors.New("the server needs a login")

// A Verdict says whether a server may be started.
type Verdict struct {
	Allowed bool
	// Reason is shown when it is not; Pending means that a user has yet to
	// decide, otherwise the server is refused for good.
	Reason  string
	Pending bool
}

// An Elicitation is a server's question to the user.
type Elicitation struct {
	Server  string          `json:"mcp_server_name"`
	Message string          `json:"message"`
	Mode    string          `json:"mode,omitempty"` // form or url
	URL     string          `json:"url,omitempty"`
	Schema  json.RawMessage `json:"requested_schema,omitempty"` // of a form
	// ID names the question to those who watch the session; "" if nobody does.
	ID string `json:"-"`
}

// An Answer is the user's.
type Answer struct {
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
	// By names the device or user that answered, if that is known. Servers do not learn it.
	By string `json:"-"`
}

// Sampling lets servers use the model, within bounds.
type Sampling struct {
	// Consent asks whether the server may; its yes holds for the host's life.
	// Nil means that every request is refused.
	Consent func(ctx context.Context, server string) (bool, error)
	// Create asks the model. A call that is made while it runs, by the context
	// that it got, gives servers no second sampling.
	Create func(context.Context, SamplingRequest) (SamplingResult, error)
	// MaxTokens is how many output tokens one server may ask for in all; 0 means 10,000.
	MaxTokens int
}

// A SamplingRequest is what a server asks of the model. What it says about
// including other servers' context is left out on purpose.
type SamplingRequest struct {
	Server    string          `json:"server"`
	Messages  json.RawMessage `json:"messages"`
	System    string          `json:"systemPrompt,omitempty"`
	MaxTokens int             `json:"maxTokens"`
	Tools     json.RawMessage `json:"tools,omitempty"`
	// Params is the whole request as it came.
	Params json.RawMessage `json:"-"`
}

// A SamplingResult is the model's answer; Content is one content block or a list.
type SamplingResult struct {
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason,omitempty"`
	Content    json.RawMessage `json:"content"`
}
