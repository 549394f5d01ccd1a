package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/haftdev/haft/tool"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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

// call takes one request through the pipeline.
func (s *Server) call(ctx context.Context, t Tool, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })()

	input := req.Params.Arguments
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	p := s.newApproval(t.Name, input, req)
	result, err := s.caller.Call(ctx, Call{Tool: t.Name, Input: input, Progress: s.progress(ctx, req), Ask: p.ask})
	if err != nil {
		return nil, err
	}
	if p.question != nil && ctx.Err() == nil {
		return p.put()
	}
	return s.result(t, result), nil
}

func (s *Server) newApproval(name string, input json.RawMessage, req *sdk.CallToolRequest) *approval {
	return &approval{server: s, tool: name, input: input, request: req}
}

// progress returns what turns reports into notifications, none if the client did
// not ask for them, and into the state of a task.
func (s *Server) progress(ctx context.Context, req *sdk.CallToolRequest) func(tool.Progress) {
	token, start := req.Params.GetProgressToken(), time.Now()
	return func(p tool.Progress) {
		var done, total float64 // a total of 0 is not known
		if m, ok := p.(tool.MCPProgress); ok {
			done, total = m.Progress, m.Total
		}
		text := tool.ProgressLine(p)
		note(ctx, text)
		if token == nil {
			return
		}
		if total == 0 {
			done = time.Since(start).Seconds() // it must grow, and time always does
		}
		err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: done, Total: total, Message: text,
		})
		if err != nil && ctx.Err() == nil {
			s.opts.Log.Debug("could not report progress", "error", err)
		}
	}
}

// note says how far the call is that ctx belongs to, if it is a task.
func note(ctx context.Context, message string) {
	if t, ok := ctx.Value(taskKey{}).(*task); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.message, t.updated = message, time.Now()
	}
}

// result is a result as clients get it.
func (s *Server) result(t Tool, r tool.Result) *sdk.CallToolResult {
	out := &sdk.CallToolResult{Content: []sdk.Content{}, IsError: r.Failed}
	for i, b := range r.Content {
		out.Content = append(out.Content, content(i, b))
	}
	if t.Output == nil || r.Failed {
		return out
	}
	structured, err := bounded(r.Output)
	if err != nil {
		s.opts.Log.Error("could not encode the output of a tool", "tool", t.Name, "error", err)
		return out
	}
	out.StructuredContent = structured
	return out
}

// tags tell a model where an error comes from; a client says that by itself.
var tags = strings.NewReplacer("<tool_use_error>", "", "</tool_use_error>", "")

// content is a block in the words of MCP, which has no documents and references.
func content(i int, b tool.Block) sdk.Content {
	switch b.Type {
	case tool.TextBlock:
		return &sdk.TextContent{Text: tags.Replace(b.Text)}
	case tool.ImageBlock:
		return &sdk.ImageContent{MIMEType: b.MediaType, Data: b.Data}
	case tool.DocumentBlock:
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
			URI: fmt.Sprintf("haft://result/document/%d", i+1), MIMEType: b.MediaType, Blob: b.Data,
		}}
	}
	return &sdk.TextContent{Text: fmt.Sprintf("[%s %s]", b.Type, b.Text)}
}

// Bounds of structured content. The text of a result was bounded by the pipeline;
// its typed form is the same thing again for programs, and must not be the way
// around that.
const (
	maxStructured = 200_000 // bytes, before anything is cut
	maxString     = 10_000  // bytes of one text, when something is
)

// bounded encodes an output. If that is too long its long texts are cut: its shape
// stays that of the schema.
func bounded(output any) (json.RawMessage, error) {
	raw, err := json.Marshal(output)
	if err != nil || len(raw) <= maxStructured {
		return raw, err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return json.Marshal(shorten(v))
}

// shorten cuts the long texts in a JSON value.
func shorten(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > maxString {
			return strings.ToValidUTF8(v[:maxString], "") + fmt.Sprintf("… (%d bytes cut)", len(v)-maxString)
		}
	case []any:
		for i := range v {
			v[i] = shorten(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = shorten(v[k])
		}
	}
	return v
}

// Handler serves any number of clients of both eras at every path.
func (s *Server) Handler(opts *HTTPOptions) http.Handler {
	g := &guard{}
	if opts != nil {
		g.opts = *opts
	}
	get := func(*http.Request) *sdk.Server { return s.sdk }
	common := sdk.StreamableHTTPOptions{
		Logger: s.opts.Log, MaxRequestBodyBytes: maxBody,
		DisableLocalhostProtection: true, // the guard knows better
	}
	sessions, plain := common, common
	sessions.EventStore, sessions.SessionTimeout = sdk.NewMemoryEventStore(nil), idleSession
	plain.Stateless, plain.PropagateRequestCancellation = true, true
	g.next = &eras{
		older: sdk.NewStreamableHTTPHandler(get, &sessions),
		newer: sdk.NewStreamableHTTPHandler(get, &plain),
	}
	return g
}

// Stdio serves one client over a pair of streams until the client closes its end or ctx ends.
// Calls that are still running are ended, with everything they started, and answered.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	defer s.Close()
	err := s.sdk.Run(ctx, &stream{in: in, out: out, gone: s.Close})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// A client that is done closes what it writes and what it reads, so either may be seen first.
	if errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
