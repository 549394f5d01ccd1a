package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tasksExtension is how clients and servers name what is in this file.
const tasksExtension = "io.modelcontextprotocol/tasks"

// maxTasks is how many tasks are kept.
const maxTasks = 1000

// tasks let clients that know the extension leave a long call and come back for
// it. A call that is done soon, or that asks something at once, is none.
type tasks struct {
	soon  time.Duration       // how long a call may take without becoming one
	modes map[string]taskMode // by tool; others are never tasks
	mu    sync.Mutex
	byID  map[string]*task
}

func newTasks() *tasks {
	return &tasks{soon: 2 * time.Second, modes: make(map[string]taskMode), byID: make(map[string]*task)}
}

type taskMode int

const (
	mayBeTask  taskMode = iota + 1
	mustBeTask          // the tool cannot be waited for
)

// taskParams are those of all methods of the extension.
type taskParams struct {
	sdk.ParamsBase
	ID      string                     `json:"taskId"`
	Answers map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// taskAck is an answer that says nothing.
type taskAck struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// install makes a server speak the extension.
func (ts *tasks) install(server *sdk.Server) error {
	server.AddReceivingMiddleware(ts.receive)
	ack := func(do func(*task, *taskParams)) func(context.Context, *sdk.ServerSession, *taskParams) (*taskAck, error) {
		return func(_ context.Context, _ *sdk.ServerSession, p *taskParams) (*taskAck, error) {
			t, err := ts.find(p.ID)
			if err != nil {
				return nil, err
			}
			do(t, p)
			return &taskAck{ResultType: "complete"}, nil
		}
	}
	get := func(_ context.Context, _ *sdk.ServerSession, p *taskParams) (*taskInfo, error) {
		t, err := ts.find(p.ID)
		if err != nil {
			return nil, err
		}
		return t.look(), nil
	}
	if err := sdk.AddReceivingCustomMethod(server, "tasks/get", get); err != nil {
		return err
	}
	if err := sdk.AddReceivingCustomMethod(server, "tasks/update", ack(func(t *task, p *taskParams) { t.answer(p.Answers) })); err != nil {
		return err
	}
	return sdk.AddReceivingCustomMethod(server, "tasks/cancel", ack(func(t *task, _ *taskParams) { t.stop() }))
}

// find returns a task by its id, which only its client knows.
func (ts *tasks) find(id string) (*task, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byID[id]
	if t == nil || time.Since(t.begun) > taskLife {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such task, or it was started too long ago"}
	}
	return t, nil
}

// keep adds a task, and forgets those that are too old. A server that has too many
// gives up the oldest.
func (ts *tasks) keep(t *task) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var oldest *task
	for id, old := range ts.byID {
		if time.Since(old.begun) > taskLife {
			old.stop()
			delete(ts.byID, id)
		} else if oldest == nil || old.begun.Before(oldest.begun) {
			oldest = old
		}
	}
	if len(ts.byID) >= maxTasks {
		oldest.stop()
		delete(ts.byID, oldest.id)
	}
	ts.byID[t.id] = t
}

// receive is the middleware: it turns long calls into tasks, and checks what the
// methods of tasks need.
func (ts *tasks) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch p := req.GetParams().(type) {
		case *taskParams:
			if !knowsTasks(p.GetMeta()) {
				return nil, errNoTasks()
			}
			if err := checkName(req, p.ID); err != nil {
				return nil, err
			}
		case *sdk.CallToolParamsRaw:
			mode := ts.modes[p.Name]
			if mode != 0 && knowsTasks(p.GetMeta()) {
				return ts.call(ctx, method, req.(*sdk.CallToolRequest), next)
			}
			if mode == mustBeTask && p.GetMeta()[metaVersion] != nil {
				return nil, errNoTasks()
			}
		}
		return next(ctx, method, req)
	}
}

// Keys of what comes with each request of the newer era.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// knowsTasks reports whether the client of a request can handle tasks.
func knowsTasks(meta map[string]any) bool {
	capabilities, _ := meta[metaCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, ok := extensions[tasksExtension]
	return ok
}

func errNoTasks() error {
	return &jsonrpc.Error{
		Code: sdk.CodeMissingRequiredClientCapabilities, Message: "this needs a client that declares " + tasksExtension,
		Data: json.RawMessage(fmt.Sprintf(`{"requiredCapabilities":{"extensions":{%q:{}}}}`, tasksExtension)),
	}
}

// checkName compares the header that routes a request with what it is about.
func checkName(req sdk.Request, id string) error {
	extra := req.GetExtra()
	if extra == nil {
		return nil
	}
	if name := extra.Header.Get("Mcp-Name"); name != "" && name != id {
		return &jsonrpc.Error{Code: sdk.CodeHeaderMismatch, Message: "the header Mcp-Name names a different task than the request"}
	}
	return nil
}

// call runs a tool, as a task if that takes long. What the call asks at once is
// asked in the usual way, before there is a task.
func (ts *tasks) call(ctx context.Context, method string, req *sdk.CallToolRequest, next sdk.MethodHandler) (sdk.Result, error) {
	t := newTask(context.WithoutCancel(ctx), func(ctx context.Context, answers sdk.InputResponseMap, state string) (*sdk.CallToolResult, error) {
		again, params := *req, *req.Params
		params.InputResponses, params.RequestState = answers, state
		again.Params = &params
		result, err := next(ctx, method, &again)
		if err != nil {
			return nil, err
		}
		return result.(*sdk.CallToolResult), nil
	})
	t.start(req.Params.InputResponses, req.Params.RequestState)
	select {
	case <-t.done:
		return t.result, t.err
	case <-ctx.Done():
		t.stop()
		<-t.done
		return nil, ctx.Err()
	case <-time.After(ts.soon):
		ts.keep(t)
		return t.created(), nil
	}
}
