package script

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// API is the protocol that a request came in.
type API string

const (
	Messages  API = "messages"
	Chat      API = "chat"
	Responses API = "responses"
)

// A Request is a client's request. Its methods parse the body each time they are called.
type Request struct {
	API    API
	Path   string // with the query
	Header http.Header
	Body   json.RawMessage
	At     time.Time

	Model string
	// Session identifies the conversation, from the header X-Claude-Code-Session-Id or
	// X-Haft-Session-Id, or by the body's metadata.user_id or user.
	Session string
	Stream  bool
	// Turn is the number of answers in the conversation.
	Turn int
	// Messages and Tools are the numbers of messages and tools.
	Messages, Tools int

	usage bool // a chat client wants to know what the answer cost
}

func newRequest(api API, r *http.Request, body []byte) *Request {
	q := &Request{API: api, Path: r.URL.RequestURI(), Header: r.Header, Body: body, At: time.Now()}
	for _, name := range []string{"X-Claude-Code-Session-Id", "X-Haft-Session-Id"} {
		if id := r.Header.Get(name); id != "" {
			q.Session = id
		}
	}
	members(body, func(key, value []byte) {
		switch string(key) {
		case "model":
			q.Model = text(value)
		case "stream":
			q.Stream = string(value) == "true"
		case "tools":
			elements(value, func([]byte) { q.Tools++ })
		case "messages":
			elements(value, q.count)
		case "input":
			q.countItems(value)
		case "metadata":
			q.nameSession(text(member(value, "user_id")))
		case "user":
			q.nameSession(text(value))
		case "stream_options":
			q.usage = string(member(value, "include_usage")) == "true"
		}
	})
	return q
}

func (r *Request) count(message []byte) {
	r.Messages++
	if string(member(message, "role")) == `"assistant"` {
		r.Turn++
	}
}

// countItems counts the messages of the Responses API, in which what a model
// says is several items: those that follow each other are one answer.
func (r *Request) countItems(input []byte) {
	answering := false
	elements(input, func(item []byte) {
		kind := text(member(item, "type"))
		its := kind == "function_call" || kind == "custom_tool_call" || kind == "reasoning" || text(member(item, "role")) == "assistant"
		if its && !answering {
			r.Turn++
		}
		if !its || !answering {
			r.Messages++
		}
		answering = its
	})
}

func (r *Request) nameSession(name string) {
	if r.Session == "" {
		r.Session = name
	}
}

// System returns the system prompt.
func (r *Request) System() string {
	if r.API == Messages {
		return text(member(r.Body, "system"))
	}
	return r.find("system", true)
}

// FirstText returns the first text of the user.
func (r *Request) FirstText() string { return r.find("user", true) }

// LastText returns the last text of the user or a tool.
func (r *Request) LastText() string { return r.find("", false) }

// find returns what the first or last message of a role says.
func (r *Request) find(role string, first bool) string {
	var message []byte
	list := "messages"
	if r.API == Responses {
		list = "input"
	}
	elements(member(r.Body, list), func(m []byte) {
		if role == "" || text(member(m, "role")) == role {
			if message == nil || !first {
				message = m
			}
		}
	})
	return text(member(message, "content"))
}

// text is a string, or the texts of an array of blocks and what is in them.
func text(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return string(raw)
		}
		return s
	}
	var parts []string
	elements(raw, func(block []byte) {
		for _, name := range []string{"text", "content"} {
			if s := text(member(block, name)); s != "" {
				parts = append(parts, s)
			}
		}
	})
	return strings.Join(parts, "\n")
}
