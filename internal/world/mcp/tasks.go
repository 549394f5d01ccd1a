package mcp

import (
	"encoding/json"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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

// A Task is a call that continues at its server even if the harness ends.
type Task struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	ID     string `json:"taskId"`
	Call   string `json:"call,omitempty"` // the id of the call that began it
}

// pause is how long to wait between two looks at a task.
func (t *taskState) pause() time.Duration {
	ms := max(t.Poll, t.PollMS)
	if ms <= 0 {
		ms = 1000
	}
	return time.Duration(min(max(ms, 50), 60_000) * float64(time.Millisecond))
}
