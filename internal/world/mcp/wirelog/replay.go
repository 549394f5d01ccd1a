package wirelog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/tool"
)

// Read reads a log. A last line that was cut off is left out.
func Read(r io.Reader) ([]Record, error) {
	var all []Record
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var record Record
		if json.Unmarshal(line, &record) != nil || len(record.Message) == 0 {
			return nil, fmt.Errorf("line %d is not a record of an MCP log", n)
		}
		all = append(all, record)
	}
}

// A Played is what a host made of a log.
type Played struct {
	Status mcp.Status `json:"server"`
	Calls  []Call     `json:"calls"`
}

// A Call is a recorded call of a tool with what comes of it now.
type Call struct {
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input,omitempty"`
	Text   string          `json:"text,omitempty"` // what the model reads
	Failed bool            `json:"failed,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Replay connects a host to a server that answers as the log has it, and makes the
// calls of the log again, in order. Of several processes that have written it, the last
// one with a call counts: haft mcp list and get also connect, and call nothing. Questions
// of the server to the host are left out.
func Replay(ctx context.Context, records []Record) (*Played, error) {
	server, calls := record(lastWithCalls(records))
	if len(server.answers) == 0 {
		return nil, errors.New("the log has no answers from a server")
	}
	const name = "recorded"
	h := mcp.NewHost(&mcp.Options{HTTP: server})
	defer h.Close()
	h.Start([]mcp.Server{{Name: name, Type: mcp.HTTP, URL: "http://" + name + "/", CallTimeout: mcp.Millis(10 * time.Second)}})
	if err := h.Wait(ctx); err != nil {
		return nil, err
	}
	p := &Played{Status: h.Status()[0], Calls: []Call{}}
	if p.Status.State != mcp.Connected {
		return p, nil
	}
	for _, c := range calls {
		r, err := h.Call(ctx, name, c.Tool, &tool.Call{Input: c.Input})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			c.Error = err.Error()
		} else {
			c.Text, c.Failed = r.Text(), r.Failed
		}
		p.Calls = append(p.Calls, c)
	}
	p.Status = h.Status()[0]
	return p, nil
}

// lastWithCalls are the records of the process that was the last to get an answer to a call,
// or those of the last process if none called a tool.
func lastWithCalls(records []Record) []Record {
	byProcess := map[int][]Record{}
	var order []int // by their last records
	for _, r := range slices.Backward(records) {
		if !slices.Contains(order, r.PID) {
			order = append(order, r.PID)
		}
	}
	for _, r := range records {
		byProcess[r.PID] = append(byProcess[r.PID], r)
	}
	for _, pid := range order {
		if _, calls := record(byProcess[pid]); len(calls) > 0 {
			return byProcess[pid]
		}
	}
	if len(order) == 0 {
		return nil
	}
	return byProcess[order[0]]
}

// A recorded server answers requests by what it once answered to the same methods,
// in order. It stands in the place of the network.
type recorded struct {
	mu      sync.Mutex
	answers map[string][]answer
}

// An answer is a response and what the server told before it.
type answer struct {
	response envelope.Message
	before   [][]byte // notifications
}

// record makes a server of the records of a process, and the calls to make.
func record(records []Record) (*recorded, []Call) {
	s := &recorded{answers: map[string][]answer{}}
	var calls []Call
	asked := map[string]envelope.Message{}
	var told [][]byte
	for _, r := range records {
		m := envelope.Read(r.Message)
		switch {
		case r.Sent && m.Method != "" && m.HasID():
			asked[string(m.ID)] = m
		case r.Sent:
		case m.Method != "" && !m.HasID():
			told = append(told, r.Message)
		case m.Method == "":
			question, ok := asked[string(bytes.Trim(m.ID, `"`))]
			if !ok {
				continue
			}
			delete(asked, string(question.ID))
			if !m.IsResponse() {
				m.Error = json.RawMessage(`{"code":-32603,"message":"the answer was too long to be recorded"}`)
			}
			if question.Method == "tools/call" {
				if string(envelope.Field(m.Result, "resultType")) == `"input_required"` {
					continue // its answer is in a later call
				}
				calls = append(calls, Call{Tool: text(envelope.Field(question.Params, "name")), Input: envelope.Field(question.Params, "arguments")})
			}
			s.answers[question.Method] = append(s.answers[question.Method], answer{m, told})
			told = nil
		}
	}
	return s, calls
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // what is no text is none
	return s
}

// RoundTrip implements [http.RoundTripper].
func (s *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPost {
		return respond(req, http.StatusMethodNotAllowed, "", ""), nil
	}
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	m := envelope.Read(body)
	if m.Method == "" || !m.HasID() {
		return respond(req, http.StatusAccepted, "", ""), nil
	}
	a := s.next(m.Method)
	part, value := "result", a.response.Result
	if a.response.Error != nil {
		part, value = "error", a.response.Error
	}
	var events strings.Builder
	for _, message := range append(a.before, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%q:%s}`, m.ID, part, value)) {
		fmt.Fprintf(&events, "event: message\ndata: %s\n\n", message)
	}
	return respond(req, http.StatusOK, "text/event-stream", events.String()), nil
}

// next returns the next answer to a method. The last one is given again and again.
func (s *recorded) next(method string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.answers[method]
	if len(list) == 0 {
		return answer{response: envelope.Message{Error: json.RawMessage(`{"code":-32601,"message":"the log has no answer to this"}`)}}
	}
	if len(list) > 1 {
		s.answers[method] = list[1:]
	}
	return list[0]
}

func respond(req *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}
