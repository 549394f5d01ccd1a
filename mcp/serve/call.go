package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/tool"
)

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

// ask is [Call.Ask].
func (p *approval) ask(c tool.Case, why tool.Verdict) tool.Verdict {
	text := questionText(c, why)
	if answer, ok := p.answered(text); ok {
		return answer
	}
	if !canAsk(p.request.ClientCapabilities()) {
		return tool.Verdict{
			Behavior: tool.Deny, Unasked: true, Rule: why.Rule, Origin: why.Origin, Suggestions: why.Suggestions,
			Reason: "it needs approval, and the MCP client cannot ask the user (it does not support elicitation)",
		}
	}
	p.question = &question{text: text, state: p.sign(text, time.Now().Add(patience))}
	return tool.Verdict{Behavior: tool.Deny, Reason: "the MCP client's user is being asked"}
}

// patience is how long an answer to a question counts.
const patience = 10 * time.Minute

func (s *Server) newApproval(name string, input json.RawMessage, req *sdk.CallToolRequest) *approval {
	return &approval{server: s, tool: name, input: input, request: req}
}

// put gives the question to the client.
func (p *approval) put() (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{
		InputRequests: sdk.InputRequestMap{answerID: &sdk.ElicitParams{
			Mode: "form", Message: p.question.text, RequestedSchema: json.RawMessage(decisionSchema),
		}},
		RequestState: p.question.state,
	}, nil
}

// decisionSchema has no default: agreeing to the form without looking allows nothing.
const decisionSchema = `{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["allow","deny"]}},"required":["decision"]}`

// progress returns what turns reports into notifications, none if the client did
// not ask for them, and into the state of a task.
func (s *Server) progress(ctx context.Context, req *sdk.CallToolRequest) func(tool.Progress) {
	token, start := req.Params.GetProgressToken(), time.Now()
	return func(p tool.Progress) {
		done, total, text := describe(p)
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

// describe says in one line how far a call is; a total of 0 is not known.
func describe(p tool.Progress) (done, total float64, text string) {
	switch p := p.(type) {
	case tool.BashProgress:
		last := strings.TrimRight(p.Output, "\n")
		return 0, 0, last[strings.LastIndexByte(last, '\n')+1:]
	case tool.MCPProgress:
		return p.Progress, p.Total, p.Message
	case tool.WebSearchProgress:
		return 0, 0, fmt.Sprintf("%s: %d results", p.Query, p.Results)
	case tool.AgentProgress:
		return 0, 0, p.Activity
	case tool.EvalProgress:
		return 0, 0, p.Output
	case tool.TextProgress:
		return 0, 0, p.Text
	}
	return 0, 0, p.ProgressType()
}
