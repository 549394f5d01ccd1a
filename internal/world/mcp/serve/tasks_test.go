package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/mcp/serve"
	"github.com/haftdev/haft/tool"
)

// A rawClient writes requests of the newer era by hand: the SDK's client knows no tasks.
type rawClient struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
	n   int
}

func newRawClient(t *testing.T, s *serve.Server) *rawClient {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Stdio(context.Background(), serverIn, serverOut) }()
	t.Cleanup(func() {
		clientOut.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &rawClient{t: t, in: clientOut, out: bufio.NewScanner(clientIn)}
}

type taskReply struct {
	ResultType string `json:"resultType"`
	TaskID     string `json:"taskId"`
	Status     string `json:"status"`
	Message    string `json:"statusMessage"`
	Result     struct {
		Content []struct{ Text string }
	} `json:"result"`
	Content []struct{ Text string } `json:"content"`
}

func (c *rawClient) ask(method, params string) (r taskReply) {
	c.t.Helper()
	c.n++
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,%s}}`+"\n", c.n, method, params, meta)
	if !c.out.Scan() {
		c.t.Fatal("no answer")
	}
	var reply struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(c.out.Bytes(), &reply); err != nil || reply.Error != nil {
		c.t.Fatalf("%s: %v %s", method, err, c.out.Bytes())
	}
	if err := json.Unmarshal(reply.Result, &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// TestLongCallBecomesATask leaves a call that takes long, sees how far it is, and
// comes back for its result; another it cancels.
func TestLongCallBecomesATask(t *testing.T) {
	finish, ended := make(chan struct{}), make(chan struct{})
	s, err := serve.New([]serve.Tool{{Name: "Work", Description: "Works.", Input: json.RawMessage(`{"type":"object"}`), Long: true}},
		callerFunc(func(ctx context.Context, c serve.Call) (tool.Result, error) {
			if string(c.Input) == `{"quick":true}` {
				return tool.Text("at once"), nil
			}
			c.Progress(tool.TextProgress{Text: "half-way"})
			select {
			case <-finish:
				return tool.Text("done"), nil
			case <-ctx.Done():
				close(ended)
				return tool.Failure("cancelled"), nil
			}
		}), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := newRawClient(t, s)
	if r := c.ask("tools/call", `"name":"Work","arguments":{"quick":true}`); r.ResultType != "complete" || r.TaskID != "" || r.Content[0].Text != "at once" {
		t.Errorf("a quick call: %+v", r)
	}
	r := c.ask("tools/call", `"name":"Work","arguments":{}`)
	if r.ResultType != "task" || r.TaskID == "" || r.Status != "working" {
		t.Fatalf("a long call: %+v", r)
	}
	id := fmt.Sprintf(`"taskId":%q`, r.TaskID)
	if r := c.ask("tasks/get", id); r.Status != "working" || r.Message != "half-way" {
		t.Errorf("while it runs: %+v", r)
	}
	close(finish)
	for deadline := time.Now().Add(10 * time.Second); r.Status != "completed"; r = c.ask("tasks/get", id) {
		if time.Now().After(deadline) {
			t.Fatalf("never completed: %+v", r)
		}
	}
	if r.Result.Content[0].Text != "done" {
		t.Errorf("result %+v", r.Result)
	}

	finish = make(chan struct{})
	r = c.ask("tools/call", `"name":"Work","arguments":{}`)
	c.ask("tasks/cancel", fmt.Sprintf(`"taskId":%q`, r.TaskID))
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the cancelled call goes on")
	}
	if r := c.ask("tasks/get", fmt.Sprintf(`"taskId":%q`, r.TaskID)); r.Status != "cancelled" {
		t.Errorf("after the cancel: %+v", r)
	}
}
