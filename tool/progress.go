package tool

import (
	"fmt"
	"strings"
	"time"
)

// Progress is what a running call reports. The types below are those of the built-in tools;
// a tool may define its own.
type Progress interface {
	// ProgressType names the type on the wire, such as bash_progress.
	ProgressType() string
}

// BashProgress is how far a shell command is.
type BashProgress struct {
	Output  string        `json:"output"` // the last lines
	Lines   int64         `json:"totalLines"`
	Bytes   int64         `json:"totalBytes"`
	Elapsed time.Duration `json:"elapsed"`
	TaskID  string        `json:"taskId,omitempty"` // of a background command
}

// MCPProgress is what an MCP server reports of a call.
type MCPProgress struct {
	Server   string  `json:"server"`
	Tool     string  `json:"tool"`
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"` // 0: not known
	Message  string  `json:"message,omitempty"`
}

// WebSearchProgress is how far a web search is.
type WebSearchProgress struct {
	Query   string `json:"query"`
	Results int    `json:"resultCount"`
}

// AgentProgress is what a sub-agent does.
type AgentProgress struct {
	Agent    string `json:"agentId"`
	Activity string `json:"activity"` // such as the summary of its newest call
	ToolUses int    `json:"toolUses"`
	Tokens   int    `json:"tokens"`
}

// EvalProgress is what an evaluator prints while it runs.
type EvalProgress struct {
	Output string `json:"output"`
}

// TextProgress is a line of progress without structure.
type TextProgress struct {
	Text    string        `json:"text"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
}

func (BashProgress) ProgressType() string      { return "bash_progress" }
func (MCPProgress) ProgressType() string       { return "mcp_progress" }
func (WebSearchProgress) ProgressType() string { return "web_search_progress" }
func (AgentProgress) ProgressType() string     { return "agent_progress" }
func (EvalProgress) ProgressType() string      { return "eval_progress" }
func (TextProgress) ProgressType() string      { return "text_progress" }

// ProgressLine is progress for users, in one line.
func ProgressLine(p Progress) string {
	switch p := p.(type) {
	case BashProgress:
		return lastLine(p.Output)
	case MCPProgress:
		return p.Message
	case WebSearchProgress:
		return fmt.Sprintf("%s: %d results", p.Query, p.Results)
	case AgentProgress:
		return p.Activity
	case EvalProgress:
		return lastLine(p.Output)
	case TextProgress:
		return p.Text
	}
	return p.ProgressType()
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}
