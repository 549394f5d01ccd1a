package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Times of tasks.
const (
	taskLife = time.Hour // how long a task is kept from its beginning on
	taskPoll = time.Second
)

// States of a task, as on the wire.
const (
	working       = "working"
	inputRequired = "input_required"
	completed     = "completed"
	failed        = "failed"
	cancelled     = "cancelled"
)

// A task is a call that a client comes back for. It takes the same way as any
// other call; only who waits for it differs.
type task struct {
	id     string
	begun  time.Time
	cancel context.CancelFunc
	run    func(answers sdk.InputResponseMap, state string) (*sdk.CallToolResult, error)

	mu      sync.Mutex
	status  string
	message string // how far it is
	updated time.Time
	result  *sdk.CallToolResult
	err     error

	asked   sdk.InputRequestMap  // questions without an answer
	answers sdk.InputResponseMap // of this round
	state   string               // of this round
	done    chan struct{}        // closed when the first round is over
}

// newTask returns a task that runs in ctx, which is not that of a request.
func newTask(ctx context.Context, run func(context.Context, sdk.InputResponseMap, string) (*sdk.CallToolResult, error)) *task {
	t := &task{id: rand.Text(), begun: time.Now(), updated: time.Now(), status: working, done: make(chan struct{})}
	ctx, t.cancel = context.WithCancel(context.WithValue(ctx, taskKey{}, t))
	t.run = func(answers sdk.InputResponseMap, state string) (*sdk.CallToolResult, error) {
		return run(ctx, answers, state)
	}
	return t
}

type taskKey struct{}

// round runs the call with what is known, and takes what comes of it.
func (t *task) round(answers sdk.InputResponseMap, state string) {
	result, err := t.run(answers, state)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updated = time.Now()
	switch {
	case t.status == cancelled:
		t.result, t.err = result, err // for callers that still wait
	case err != nil:
		t.status, t.err = failed, err
	case result.InputRequests != nil:
		t.status, t.asked, t.answers, t.state = inputRequired, maps.Clone(result.InputRequests), sdk.InputResponseMap{}, result.RequestState
		t.result = result
	default:
		t.status, t.result = completed, result
	}
}

// stop ends the call. A task that is over stays as it is.
func (t *task) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == working || t.status == inputRequired {
		t.status, t.updated, t.asked = cancelled, time.Now(), nil
	}
	t.cancel()
}

// answer takes answers to open questions, and continues when none is left. What is no
// answer, or to no question, changes nothing.
func (t *task) answer(given map[string]json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status != inputRequired {
		return
	}
	for id := range t.asked {
		one, err := json.Marshal(map[string]json.RawMessage{id: given[id]})
		var answer sdk.InputResponseMap
		if given[id] == nil || err != nil || json.Unmarshal(one, &answer) != nil {
			continue
		}
		delete(t.asked, id)
		t.answers[id] = answer[id]
	}
	t.updated = time.Now()
	if len(t.asked) == 0 {
		t.status, t.result = working, nil
		go t.round(t.answers, t.state)
	}
}

// taskInfo is a task on the wire.
type taskInfo struct {
	sdk.ResultBase
	ResultType string              `json:"resultType"`
	ID         string              `json:"taskId"`
	Status     string              `json:"status"`
	Message    string              `json:"statusMessage,omitempty"`
	Created    string              `json:"createdAt"`
	Updated    string              `json:"lastUpdatedAt"`
	TTL        int64               `json:"ttlMs"`
	Poll       int64               `json:"pollIntervalMs"`
	Result     *sdk.CallToolResult `json:"result,omitempty"`
	Error      *jsonrpc.Error      `json:"error,omitempty"`
	Asked      sdk.InputRequestMap `json:"inputRequests,omitempty"`
}

// created is what a call gets that became a task.
func (t *task) created() *taskInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &taskInfo{
		ResultType: "task", ID: t.id, Status: working, Message: t.message, Created: stamp(t.begun), Updated: stamp(t.updated),
		TTL: taskLife.Milliseconds(), Poll: taskPoll.Milliseconds(),
	}
}

// look is all about the task.
func (t *task) look() *taskInfo {
	i := t.created()
	t.mu.Lock()
	defer t.mu.Unlock()
	i.ResultType, i.Status, i.Asked = "complete", t.status, maps.Clone(t.asked)
	switch t.status {
	case completed:
		i.Result = t.result
	case failed:
		i.Error = wireError(t.err)
	}
	return i
}

// start runs the first round.
func (t *task) start(answers sdk.InputResponseMap, state string) {
	go func() {
		defer close(t.done)
		t.round(answers, state)
	}()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func wireError(err error) *jsonrpc.Error {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return wire
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error(), Data: json.RawMessage(`{}`)}
}
