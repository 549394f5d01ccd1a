package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
	"github.com/haftdev/haft/tool"
)

//lint:file-ignore SA1019 what the newer era gives up is still spoken

// Tasks are calls whose result is fetched later. The two eras have two forms of
// them. In the older the host asks for a task (task in the call's parameters)
// and fetches its result by tasks/result. In the newer the server answers any
// call with a task if the host has declared the extension, and tasks/get brings
// the result and the server's questions.

// tasksExtension declares that a host knows the newer form.
const tasksExtension = "io.modelcontextprotocol/tasks"

// A taskState is a task of either form.
type taskState struct {
	sdk.ResultBase
	ID            string          `json:"taskId"`
	Status        string          `json:"status"`
	Message       string          `json:"statusMessage"`
	Poll          float64         `json:"pollInterval"`
	PollMS        float64         `json:"pollIntervalMs"`
	Result        json.RawMessage `json:"result"`
	Error         *taskError      `json:"error"`
	InputRequests json.RawMessage `json:"inputRequests"`
	RequestState  string          `json:"requestState"`
}

type taskError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

type taskParams struct {
	sdk.ParamsBase
	ID string `json:"taskId"`
}

type taskAnswers struct {
	sdk.ParamsBase
	ID           string               `json:"taskId"`
	Responses    sdk.InputResponseMap `json:"inputResponses"`
	RequestState string               `json:"requestState,omitempty"`
}

type taskCall struct {
	sdk.ParamsBase
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Task      struct {
		TTL int64 `json:"ttl"`
	} `json:"task"`
}

type rawResult struct {
	sdk.ResultBase
	raw json.RawMessage
}

func (r *rawResult) UnmarshalJSON(data []byte) error {
	r.raw = append(json.RawMessage(nil), data...)
	return nil
}

// taskTTL is how long a server is asked to keep a result.
const taskTTL = 10 * time.Minute

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

// A Task is a call that continues at its server even if the harness ends.
type Task struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	ID     string `json:"taskId"`
	Call   string `json:"call,omitempty"` // the id of the call that began it
}

// Resume waits for the result of a task that an earlier run began and Options.OnTask reported.
func (h *Host) Resume(ctx context.Context, t Task) (tool.Result, error) {
	p, err := peerOf(h, t.Server)
	if err != nil {
		return tool.Result{}, tool.Errorf("%w", err)
	}
	raw, err := ask(ctx, h, t.Server, func(ctx context.Context, s *session) (json.RawMessage, error) {
		state, err := s.lookAtTask(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		return s.poll(ctx, state, func() {})
	})
	if err != nil {
		return tool.Result{}, forModel(ctx, err)
	}
	o := p.offered(t.Tool)
	if o == nil {
		o = &offer{Tool: gate.Tool{Name: t.Tool}}
	}
	return p.read(o, raw)
}

// pause is how long to wait between two looks at a task.
func (t *taskState) pause() time.Duration {
	ms := max(t.Poll, t.PollMS)
	if ms <= 0 {
		ms = 1000
	}
	return time.Duration(min(max(ms, 50), 60_000) * float64(time.Millisecond))
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
