package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
	"github.com/haftdev/haft/tool"
)

//lint:file-ignore SA1019 what the newer era gives up is still spoken

// legacyProtocol and modernProtocol are the newest revisions of the two eras.
const (
	legacyProtocol = "2025-11-25"
	modernProtocol = "2026-07-28"
)

// A session is one connection to a server.
type session struct {
	peer   *peer
	client *sdk.Client
	wire   *sdk.ClientSession
	gate   *gate.Gate
	link   link

	lost   chan struct{}
	losing sync.Once
	cause  error           // valid once lost is closed
	life   context.Context // ends with the session
	die    context.CancelFunc

	expiry *time.Timer // of the list of tools, guarded by the peer's lock; nil if it has none

	lastToken atomic.Int64
	watchers  sync.Map // progress token → func(tool.MCPProgress)
}

// A link is what a session stands on.
type link interface {
	sdk.Transport
	// Close ends the link and, if it has one, the process behind it.
	Close() error
	Stderr() []string
	PID() int
}

// newSession prepares a session; open makes the connection.
func newSession(p *peer, l link, g *gate.Gate) *session {
	s := &session{peer: p, link: l, gate: g, lost: make(chan struct{})}
	s.life, s.die = context.WithCancel(context.Background())
	g.Progress = s.progressed
	opts := &p.host.opts
	s.client = sdk.NewClient(&sdk.Implementation{Name: opts.Name, Version: opts.Version}, s.options())
	if err := extensionMethods(s.client); err != nil {
		panic(err.Error()) // the library has made a method of ours its own
	}
	s.client.AddRoots(roots(p.host.rootDirs())...)
	return s
}

// extensionMethods tells the library which methods it may send.
func extensionMethods(c *sdk.Client) error {
	return errors.Join(
		sdk.AddSendingCustomMethod[*skillsParams, *rawResult](c, "skills/list"),
		sdk.AddSendingCustomMethod[*taskParams, *taskState](c, "tasks/get"),
		sdk.AddSendingCustomMethod[*taskParams, *rawResult](c, "tasks/result"),
		sdk.AddSendingCustomMethod[*taskParams, *rawResult](c, "tasks/cancel"),
		sdk.AddSendingCustomMethod[*taskAnswers, *rawResult](c, "tasks/update"),
	)
}

func (s *session) options() *sdk.ClientOptions {
	opts, p := &s.peer.host.opts, s.peer
	caps := &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{ListChanged: true}}
	o := &sdk.ClientOptions{
		Capabilities:               caps,
		Logger:                     slog.New(slog.DiscardHandler),
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { p.stale(staleTools) },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { p.stale(stalePrompts) },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { p.stale(staleResources) },
		ResourceUpdatedHandler:     func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { s.updated(r) },
	}
	caps.AddExtension(tasksExtension, nil)
	caps.AddExtension(skillsExtension, nil)
	if opts.Elicit != nil {
		caps.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
		o.ElicitationHandler = func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return s.elicit(ctx, r.Params)
		}
	}
	if opts.Sampling != nil {
		o.CreateMessageWithToolsHandler = func(ctx context.Context, r *sdk.CreateMessageWithToolsRequest) (*sdk.CreateMessageWithToolsResult, error) {
			return s.sample(ctx, r.Params)
		}
	}
	return o
}

// open connects in the given era; an empty protocol means that the server is
// asked. It returns when ctx ends, whatever the server does.
func (s *session) open(ctx context.Context, protocol string) error {
	type result struct {
		wire *sdk.ClientSession
		err  error
	}
	done := make(chan result, 1)
	go func() {
		wire, err := s.client.Connect(ctx, s.link, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
		done <- result{wire, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return r.err
		}
		s.wire = r.wire
		go func() {
			err := r.wire.Wait()
			if err == nil {
				err = errors.New("the connection has ended")
			}
			s.lose(err)
		}()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.lost:
		return s.cause
	}
}

// lose ends the session for a reason; the first one counts.
func (s *session) lose(cause error) {
	s.losing.Do(func() {
		s.cause = cause
		close(s.lost)
		s.die()
	})
}

func (s *session) isLost() bool {
	select {
	case <-s.lost:
		return true
	default:
		return false
	}
}

var errSessionClosed = errors.New("the connection was closed")

// close ends the session and what it stands on.
func (s *session) close() {
	s.lose(errSessionClosed)
	s.expire(0)
	s.link.Close()
	if s.wire != nil {
		go s.wire.Close() // it waits for handlers, which may wait for a user
	}
}

// within ties ctx to the session: it ends when the session does, with its cause.
func (s *session) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(&lostError{s.cause}) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// A lostError is the end of a session during a request.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

func (s *session) modern() bool {
	return s.wire.InitializeResult().ProtocolVersion >= modernProtocol
}

func (s *session) progressed(params json.RawMessage) {
	var p tool.MCPProgress
	if json.Unmarshal(params, &p) != nil {
		return
	}
	p.Server = s.peer.name
	// Some servers send the token back as text.
	token, err := strconv.ParseInt(strings.Trim(string(envelope.Field(params, "progressToken")), `"`), 10, 64)
	if f, ok := s.watchers.Load(token); ok && err == nil {
		f.(func(tool.MCPProgress))(p)
	}
}

func (s *session) updated(r *sdk.ResourceUpdatedNotificationRequest) {
	if f := s.peer.host.opts.OnUpdate; f != nil && r.Params != nil {
		f(s.peer.name, r.Params.URI)
	}
}

// watch has f called with the progress that is reported under the token it
// returns.
func (s *session) watch(f func(tool.MCPProgress)) (token int64, stop func()) {
	token = s.lastToken.Add(1)
	s.watchers.Store(token, f)
	return token, func() { s.watchers.Delete(token) }
}

// callTool sends a tool call and returns the result as the server wrote it.
func (s *session) callTool(ctx context.Context, c *toolCall) (json.RawMessage, error) {
	if s.wantsTask(c.offer) {
		return s.callAsTask(ctx, c)
	}
	send := func() (*sdk.CallToolResult, error) {
		return s.wire.CallTool(ctx, &sdk.CallToolParams{Meta: c.meta, Name: c.offer.Name, Arguments: c.args})
	}
	res, err := send()
	if err != nil && s.answeredURLs(ctx, err) {
		res, err = send()
	}
	if err != nil {
		return nil, err
	}
	raw, ok := s.gate.Redeem(res.Meta)
	if !ok {
		return nil, errors.New("the result was lost")
	}
	if isTask(raw) {
		return s.awaitTask(ctx, raw, c)
	}
	return raw, nil
}

// isTask reports whether a result is a task in the newer form.
func isTask(raw json.RawMessage) bool {
	return string(envelope.Field(raw, "resultType")) == `"task"`
}

// wantsTask reports whether a tool can be called as a task only, as the older
// form has it.
func (s *session) wantsTask(o *offer) bool {
	return !s.modern() && o.Execution != nil && o.Execution.TaskSupport == "required"
}

// listTools fetches all pages of the tool list, as the server sent them, but for
// the entries that the protocol tells clients to leave out: those whose headers
// cannot be.
func (s *session) listTools(ctx context.Context) ([]json.RawMessage, error) {
	if caps := s.wire.InitializeResult().Capabilities; caps != nil && caps.Tools == nil {
		return nil, nil
	}
	ctx, done := s.within(ctx)
	defer done()
	var all []json.RawMessage
	cursor, fresh := "", time.Duration(0)
	for range maxPages {
		res, err := s.wire.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, reason(ctx, err)
		}
		page, ok := s.gate.Redeem(res.Meta)
		if !ok {
			return nil, errUnchanged
		}
		kept := make(map[string]bool, len(res.Tools))
		for _, t := range res.Tools {
			kept[t.Name] = true
		}
		for _, entry := range gate.Page(page) {
			t, err := gate.ReadTool(entry)
			if err == nil && !kept[t.Name] {
				s.peer.step("tool %s: its x-mcp-header annotations are invalid", t.Name)
				continue
			}
			all = append(all, entry)
		}
		if ttl := time.Duration(res.GetTTLMs()) * time.Millisecond; ttl > 0 && (fresh == 0 || ttl < fresh) {
			fresh = ttl
		}
		if res.NextCursor == "" || res.NextCursor == cursor {
			s.expire(fresh)
			return all, nil
		}
		cursor = res.NextCursor
	}
	return nil, fmt.Errorf("the list has more than %d pages", maxPages)
}

// elicit puts a server's question to the user.
func (s *session) elicit(ctx context.Context, params *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	if params == nil {
		return nil, invalid("elicitation without parameters")
	}
	message, _ := clean(params.Message)
	e := Elicitation{Server: s.peer.name, Message: message, Mode: params.Mode, URL: params.URL}
	if e.Mode == "" {
		e.Mode = "form"
	}
	if e.Mode == "url" {
		if u, err := url.Parse(e.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, invalid("the URL of an elicitation must be http or https")
		}
	} else {
		var err error
		if e.Schema, err = inOrder(params.RequestedSchema); err != nil {
			return nil, invalid("requestedSchema cannot be read")
		}
		if name := secretField(e.Schema); name != "" {
			return nil, invalid("the field " + name + " asks for a secret; use a URL elicitation for that")
		}
	}
	answer, err := s.peer.host.opts.Elicit(ctx, e)
	if err != nil {
		return nil, err
	}
	r := &sdk.ElicitResult{Action: answer.Action}
	if answer.Action == "accept" && e.Mode == "form" {
		r.Content = map[string]any{}
		if len(answer.Content) > 0 {
			if err := json.Unmarshal(answer.Content, &r.Content); err != nil {
				return nil, errors.New("the answer is not an object")
			}
		}
	}
	return r, nil
}

// inOrder is the schema of a form with its fields in the order in which the server has
// them.
func inOrder(decoded any) (json.RawMessage, error) {
	schema, _ := decoded.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	order, _ := schema[gate.Order].([]any)
	if len(order) == 0 {
		return json.Marshal(decoded)
	}
	var b bytes.Buffer
	for _, name := range order {
		name, _ := name.(string)
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(properties[name])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%s:%s", key, value)
	}
	rest := maps.Clone(schema)
	delete(rest, gate.Order)
	rest["properties"] = json.RawMessage("{" + strings.TrimPrefix(b.String(), ",") + "}")
	return json.Marshal(rest)
}

// secretField finds a field of a form that asks for what a form must not hold:
// the answer would pass the model's context.
func secretField(schema json.RawMessage) string {
	for name, property := range envelope.Fields(envelope.Field(schema, "properties")) {
		if secret.MatchString(name) || string(envelope.Field(property, "format")) == `"password"` {
			return name
		}
	}
	return ""
}

// answeredURLs has the user visit the pages that an error asks for, and
// reports whether the request may be sent again.
func (s *session) answeredURLs(ctx context.Context, err error) bool {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != sdk.CodeURLElicitationRequired || s.peer.host.opts.Elicit == nil {
		return false
	}
	var data struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(rpc.Data, &data) != nil || len(data.Elicitations) == 0 {
		return false
	}
	for _, e := range data.Elicitations {
		e.Mode = "url"
		if r, err := s.elicit(ctx, e); err != nil || r.Action != "accept" {
			return false
		}
	}
	return true
}

// expire has the list of tools fetched again when the server does not vouch for it
// any more. Zero means that it said nothing, or that its word on changes is enough.
func (s *session) expire(fresh time.Duration) {
	p := s.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
	if fresh > 0 && !s.isLost() {
		s.expiry = time.AfterFunc(max(fresh, minFresh), func() { p.stale(staleTools) })
	}
}

// setRoots tells the server about changed directories.
func (s *session) setRoots(old, dirs []string) {
	var gone []string
	for _, r := range roots(old) {
		if !slices.ContainsFunc(roots(dirs), func(n *sdk.Root) bool { return n.URI == r.URI }) {
			gone = append(gone, r.URI)
		}
	}
	s.client.RemoveRoots(gone...)
	s.client.AddRoots(roots(dirs)...)
}

// sample lets a server use the model: once the user agreed, within a budget,
// and not from within another server's use of it.
func (s *session) sample(ctx context.Context, params *sdk.CreateMessageWithToolsParams) (*sdk.CreateMessageWithToolsResult, error) {
	opts, p := s.peer.host.opts.Sampling, s.peer
	if !p.enterSampling() {
		return nil, errors.New("only one sampling request may run at a time")
	}
	defer p.leaveSampling()
	if err := p.consent(ctx, opts); err != nil {
		return nil, err
	}
	if err := p.spend(opts, int(params.MaxTokens)); err != nil {
		return nil, err
	}
	whole, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	req := SamplingRequest{Server: p.name, System: params.SystemPrompt, MaxTokens: int(params.MaxTokens), Params: whole}
	if req.Messages, err = json.Marshal(params.Messages); err != nil {
		return nil, err
	}
	if len(params.Tools) > 0 {
		if req.Tools, err = json.Marshal(params.Tools); err != nil {
			return nil, err
		}
	}
	res, err := opts.Create(context.WithValue(ctx, samplingKey{}, true), req)
	if err != nil {
		return nil, err
	}
	return samplingResult(res)
}

func samplingResult(res SamplingResult) (*sdk.CreateMessageWithToolsResult, error) {
	content := bytes.TrimSpace(res.Content)
	if len(content) > 0 && content[0] != '[' {
		content = append(append([]byte{'['}, content...), ']')
	}
	wire, err := json.Marshal(map[string]any{"role": "assistant", "model": res.Model, "stopReason": res.StopReason, "content": json.RawMessage(content)})
	if err != nil {
		return nil, fmt.Errorf("encode the model's answer: %w", err)
	}
	r := new(sdk.CreateMessageWithToolsResult)
	return r, json.Unmarshal(wire, r)
}

// callAsTask calls a tool in the older form of tasks.
func (s *session) callAsTask(ctx context.Context, c *toolCall) (json.RawMessage, error) {
	params := &taskCall{Name: c.offer.Name, Arguments: c.args}
	params.Meta, params.Task.TTL = c.meta, taskTTL.Milliseconds()
	res, err := sdk.CallCustomMethod[*taskCall, *sdk.CallToolResult](ctx, s.wire, "tools/call", params)
	if err != nil {
		return nil, err
	}
	raw, ok := s.gate.Redeem(res.Meta)
	if !ok {
		return nil, errors.New("the result was lost")
	}
	task := envelope.Field(raw, "task")
	if task == nil {
		return raw, nil // the server has answered at once
	}
	return s.awaitTask(ctx, task, c)
}

// awaitTask polls a new task until it has a result.
func (s *session) awaitTask(ctx context.Context, raw json.RawMessage, c *toolCall) (json.RawMessage, error) {
	state := new(taskState)
	if err := json.Unmarshal(raw, state); err != nil || state.ID == "" {
		return nil, errors.New("the server answered with a task that has no id")
	}
	c.began(state.ID)
	return s.poll(ctx, state, c.alive)
}

// poll looks at a task until it has a result. When ctx ends first the task is
// cancelled.
func (s *session) poll(ctx context.Context, state *taskState, alive func()) (json.RawMessage, error) {
	id := state.ID
	for {
		alive()
		switch state.Status {
		case "completed":
			if s.modern() && state.Result != nil {
				return state.Result, nil
			}
			return s.taskResult(ctx, id)
		case "failed":
			return s.taskFailure(ctx, id, state)
		case "cancelled":
			return nil, fmt.Errorf("the server cancelled the task %s%s", id, named(": ", state.Message))
		case "input_required":
			if !s.modern() {
				return s.taskResult(ctx, id) // the questions come while it waits
			}
			if err := s.answerTask(ctx, state); err != nil {
				return nil, err
			}
		}
		select {
		case <-time.After(state.pause()):
		case <-ctx.Done():
			s.cancelTask(ctx, id)
			return nil, ctx.Err()
		}
		next, err := s.lookAtTask(ctx, id)
		if err != nil {
			return nil, err
		}
		state = next
	}
}

func (s *session) lookAtTask(ctx context.Context, id string) (*taskState, error) {
	state, err := sdk.CallCustomMethod[*taskParams, *taskState](ctx, s.wire, "tasks/get", &taskParams{ID: id})
	if err != nil && ctx.Err() != nil {
		s.cancelTask(ctx, id)
	}
	return state, err
}

func (s *session) taskResult(ctx context.Context, id string) (json.RawMessage, error) {
	res, err := sdk.CallCustomMethod[*taskParams, *rawResult](ctx, s.wire, "tasks/result", &taskParams{ID: id})
	if err != nil {
		if ctx.Err() != nil {
			s.cancelTask(ctx, id)
		}
		return nil, err
	}
	return res.raw, nil
}

func (s *session) taskFailure(ctx context.Context, id string, state *taskState) (json.RawMessage, error) {
	switch {
	case state.Error != nil:
		return nil, fmt.Errorf("the task failed: %s (%d)", state.Error.Message, state.Error.Code)
	case state.Result != nil:
		return state.Result, nil
	case !s.modern():
		return s.taskResult(ctx, id) // it has the error
	}
	return nil, fmt.Errorf("the task %s failed%s", id, named(": ", state.Message))
}

// cancelTask tells the server that nobody waits any more. A task whose
// connection was lost continues, for [Host.Resume].
func (s *session) cancelTask(ctx context.Context, id string) {
	if s.isLost() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	go func() {
		defer cancel()
		_, _ = sdk.CallCustomMethod[*taskParams, *rawResult](ctx, s.wire, "tasks/cancel", &taskParams{ID: id})
	}()
}

// answerTask answers the questions of a task.
func (s *session) answerTask(ctx context.Context, state *taskState) error {
	var questions sdk.InputRequestMap
	if err := json.Unmarshal(state.InputRequests, &questions); err != nil {
		return fmt.Errorf("read the questions of a task: %w", err)
	}
	answers := make(sdk.InputResponseMap, len(questions))
	for id, question := range questions {
		answer, err := s.answerInput(ctx, question)
		if err != nil {
			return err
		}
		answers[id] = answer
	}
	_, err := sdk.CallCustomMethod[*taskAnswers, *rawResult](ctx, s.wire, "tasks/update", &taskAnswers{ID: state.ID, Responses: answers, RequestState: state.RequestState})
	return err
}

func (s *session) answerInput(ctx context.Context, question sdk.InputRequest) (sdk.InputResponse, error) {
	opts := &s.peer.host.opts
	switch q := question.(type) {
	case *sdk.ElicitParams:
		if opts.Elicit != nil {
			return s.elicit(ctx, q)
		}
	case *sdk.CreateMessageWithToolsParams:
		if opts.Sampling != nil {
			return s.sample(ctx, q)
		}
	case *sdk.ListRootsParams:
		return &sdk.ListRootsResult{Roots: roots(s.peer.host.rootDirs())}, nil
	}
	return nil, errors.New("the task asks for input that haft cannot provide")
}
