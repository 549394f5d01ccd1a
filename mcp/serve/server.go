package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/tool"
)

// A Tool describes one tool to clients.
type Tool struct {
	Name, Title, Description string
	// Input and Output are JSON Schemas of objects; a nil Output means that results
	// have no structure.
	Input, Output json.RawMessage
	Hints         Hints
	// Long marks a tool whose calls may take a long time: a client that supports tasks can
	// leave such a call and fetch its result later.
	Long bool
}

// Hints describe how every call of a tool behaves. The zero value assumes the worst.
type Hints struct {
	// ReadOnly calls change nothing. Idempotent calls change nothing more when they are
	// repeated.
	ReadOnly, Idempotent bool
	// Additive calls delete and overwrite nothing.
	Additive bool
	// Closed tools reach nothing beyond this machine.
	Closed bool
}

// A Call is one call of a tool by a client.
type Call struct {
	Tool  string
	Input json.RawMessage
	// Progress receives the progress of the call; it does not block. It is never nil.
	Progress func(tool.Progress)
	// Ask asks the client's user about the case. The verdict is final for this run of the
	// call: if the user has yet to be asked, it denies, and the call is run again with the
	// answer. It is never nil.
	Ask func(tool.Case, tool.Verdict) tool.Verdict
}

// A Caller takes calls through the pipeline. It is called concurrently. When ctx
// ends it ends everything that the call started.
type Caller interface {
	// Call returns the outcome of the call. An error means that the pipeline itself
	// cannot continue.
	Call(ctx context.Context, c Call) (tool.Result, error)
}

// Options configure a [Server]. Nil means all zero values.
type Options struct {
	// Name and Version are sent to clients; "" means "haft" and "dev".
	Name, Version string
	// Instructions tell a model how to use the tools; "" means nothing.
	Instructions string
	// Log receives messages for maintainers; nil discards them.
	Log *slog.Logger
}

// A Server offers tools.
type Server struct {
	sdk    *sdk.Server
	tasks  *tasks
	caller Caller
	opts   Options
	key    []byte // signs approvals that travel through clients

	life context.Context // of every call
	end  context.CancelCauseFunc
}

// lasting is how long clients may rely on what they were told; it does not change
// while the server runs.
const lasting = 5 * time.Minute

// errClosed is why calls end with the server.
var errClosed = errors.New("the server was closed")

// New returns a server that offers tools, in their order, through caller.
func New(tools []Tool, caller Caller, opts *Options) (*Server, error) {
	s := &Server{caller: caller, key: []byte(rand.Text())}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Name == "" {
		s.opts.Name = "haft"
	}
	if s.opts.Version == "" {
		s.opts.Version = "dev"
	}
	if s.opts.Log == nil {
		s.opts.Log = slog.New(slog.DiscardHandler)
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.tasks = newTasks()
	var err error
	if s.sdk, err = s.newSDK(nil); err != nil {
		return nil, err
	}
	s.sdk.AddReceivingMiddleware(onlyTools)
	for _, t := range tools {
		if err := s.add(t); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newTasks() *tasks {
	return &tasks{soon: 2 * time.Second, modes: make(map[string]taskMode), byID: make(map[string]*task)}
}

// newSDK returns the SDK's server. Tests change its options.
func (s *Server) newSDK(change func(*sdk.ServerOptions)) (*sdk.Server, error) {
	opts := &sdk.ServerOptions{
		Instructions: s.opts.Instructions,
		Logger:       s.opts.Log,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
			c.TTLMs, c.CacheScope = int(lasting.Milliseconds()), "private"
		},
	}
	if change != nil {
		change(opts)
	}
	opts.Capabilities.AddExtension(tasksExtension, map[string]any{})
	server := sdk.NewServer(&sdk.Implementation{Name: s.opts.Name, Version: s.opts.Version}, opts)
	return server, s.tasks.install(server)
}

// onlyTools refuses what was not declared, which the SDK answers with empty lists: a
// host that asks all the same learns that there is no such thing here.
func onlyTools(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch kind, _, _ := strings.Cut(method, "/"); kind {
		case "prompts", "resources", "completion", "logging":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server offers only tools, not " + method}
		}
		return next(ctx, method, req)
	}
}

// add offers one tool.
func (s *Server) add(t Tool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot offer the tool %s: %v", t.Name, p)
		}
	}()
	if t.Long {
		s.tasks.modes[t.Name] = mayBeTask
	}
	offered := &sdk.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input, Annotations: annotations(t)}
	if t.Output != nil {
		offered.OutputSchema = t.Output
	}
	s.sdk.AddTool(offered, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return s.call(ctx, t, req)
	})
	return nil
}

func annotations(t Tool) *sdk.ToolAnnotations {
	destructive, open := !t.Hints.ReadOnly && !t.Hints.Additive, !t.Hints.Closed
	return &sdk.ToolAnnotations{
		Title: t.Title, ReadOnlyHint: t.Hints.ReadOnly, IdempotentHint: t.Hints.ReadOnly || t.Hints.Idempotent,
		DestructiveHint: &destructive, OpenWorldHint: &open,
	}
}

// Close ends every call, and everything that it started.
func (s *Server) Close() {
	s.end(errClosed)
}
