package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// Options configure a Host. A nil *Options means all zero values.
type Options struct {
	// Name and Version are sent to servers; "" means "haft" and "dev".
	Name, Version string

	// Runner starts server processes and ends everything they started, even if the harness is
	// killed. Nil means plain process groups, which survive if the harness is killed.
	Runner shellrun.Runner
	// Box returns what the process of a server may touch. A nil Box or a nil result means
	// everything. The Runner must be able to confine processes.
	Box func(Server) *sandbox.Spec
	// Environ is the harness's environment, of which servers get only harmless variables; nil
	// means os.Environ().
	Environ []string
	// Dir is where server processes run; "" means the current directory.
	Dir string

	// HTTP is the transport that Auth's transport builds on; nil means one of the host's own.
	HTTP http.RoundTripper
	// Auth adds credentials to the requests of HTTP servers; nil adds none.
	Auth Auth
	// Send carries messages to in-process servers; nil means that there are none.
	Send SendFunc

	// Approve decides whether a server may be started; nil approves all. It is called before
	// each start.
	Approve func(Server) Verdict

	// Elicit asks the user a server's question; nil means that servers are told that no user
	// can be asked.
	Elicit func(context.Context, Elicitation) (Answer, error)
	// Sampling lets servers use the model; nil means that they cannot.
	Sampling *Sampling
	// Roots are the directories that servers are told about; see [Host.SetRoots].
	Roots []string

	// OnChange, if not nil, is called after servers, tools, prompts or resources have changed.
	// A burst of changes causes one call, calls do not overlap, and Close waits for the last
	// one.
	OnChange func()
	// OnTask, if not nil, is called when a call has become a task at its server, before the
	// host waits for it. With the stored Task, [Host.Resume] can get the result after a crash.
	OnTask func(Task)
	// OnUpdate is called when a resource with a subscription has changed.
	OnUpdate func(server, uri string)
	// OnMessage, if not nil, is called with every message to or from a server. It must not
	// keep or change the message.
	OnMessage func(server string, sent bool, message []byte)

	// CacheDir is where the protocol era and the offers of servers are kept between runs; ""
	// means that nothing is kept.
	CacheDir string

	// StartTimeout, IdleTimeout and CallTimeout apply to servers that set none; 0 means 30 s,
	// 5 min (30 min for stdio) and 28 h.
	StartTimeout, IdleTimeout, CallTimeout time.Duration
	// MaxResult is the maximum length of results, in characters, for servers and tools that
	// set no limit of their own; 0 means the limit of all other tools.
	MaxResult int
	// ProbeTimeout is how long to wait for a server to say that it speaks the newer era before
	// assuming the older one; 0 means 1.5 s.
	ProbeTimeout time.Duration
	// MaxMessage is the maximum size of one message in bytes; 0 means 64 MiB.
	MaxMessage int

	// Log receives messages for maintainers; nil discards them.
	Log *slog.Logger
}

// A SendFunc carries a JSON-RPC message to an in-process server and returns the
// server's reply, which is ignored for a notification.
type SendFunc func(ctx context.Context, server string, message json.RawMessage) (json.RawMessage, error)

// Auth supplies the credentials of HTTP servers.
type Auth interface {
	// Transport returns a RoundTripper that authorises requests to the server and hands them
	// to base. If it cannot (no one is logged in, the login has expired), it returns the
	// server's 401 or 403 unchanged, or an error that wraps [ErrNeedsAuth]; the server's
	// status then becomes needs-auth.
	Transport(server Server, base http.RoundTripper) (http.RoundTripper, error)
}

// ErrNeedsAuth means that a user must log in before a server can be used.
var ErrNeedsAuth = errors.New("the server needs a login")

// A Verdict says whether a server may be started.
type Verdict struct {
	Allowed bool
	// Reason is shown if it is not allowed. Pending means that the user has not decided yet;
	// otherwise the server is refused for good.
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
	// ID identifies the question to clients that watch the session; "" if there are none.
	ID string `json:"-"`
}

// An Answer is the user's answer to an Elicitation.
type Answer struct {
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
	// By names the device or user that answered, if known. It is not sent to servers.
	By string `json:"-"`
}

// Sampling lets servers use the model, within limits.
type Sampling struct {
	// Consent asks whether the server may use the model; a yes holds for the lifetime of the
	// host. Nil means that every request is refused.
	Consent func(ctx context.Context, server string) (bool, error)
	// Create asks the model. Calls made with its context give servers no sampling of their
	// own.
	Create func(context.Context, SamplingRequest) (SamplingResult, error)
	// MaxTokens is the total number of output tokens that one server may request; 0 means
	// 10,000.
	MaxTokens int
}

// A SamplingRequest is a server's request to the model. A wish to include other servers'
// context is deliberately ignored.
type SamplingRequest struct {
	Server    string          `json:"server"`
	Messages  json.RawMessage `json:"messages"`
	System    string          `json:"systemPrompt,omitempty"`
	MaxTokens int             `json:"maxTokens"`
	Tools     json.RawMessage `json:"tools,omitempty"`
	// Params is the whole request as it was received.
	Params json.RawMessage `json:"-"`
}

// A SamplingResult is the model's answer; Content is one content block or a list.
type SamplingResult struct {
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason,omitempty"`
	Content    json.RawMessage `json:"content"`
}
