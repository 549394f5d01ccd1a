package anthropic

import (
	"bytes"
	"encoding/json"

	"github.com/haftdev/haft/internal/models/sse"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
)

// newBody returns a request as it is sent, most of it bytes that are there
// already, and the settings that it is sent with.
//
// The messages come last, and what comes before them does not change from turn
// to turn, so that each request begins with the bytes of the one before it, but
// for the cache marks.
func newBody(req *model.Request, without features) (*sse.Body, *settings, error) {
	h, s := newHead(req, without)
	raw, err := plainjson.Marshal(h)
	if err != nil {
		return nil, nil, &model.Error{Kind: model.InvalidRequest, Message: "the request cannot be encoded: " + err.Error(), Err: err}
	}
	b := sse.NewBody(2*req.Messages.Len() + 8)
	b.Add(bytes.TrimSuffix(raw, []byte("}")))
	if len(req.Tools) > 0 && string(req.Tools) != "[]" {
		b.Add([]byte(`,"tools":`))
		b.Add(req.Tools)
	}
	b.Add([]byte(`,"messages":[`))
	addMessages(b, req.Messages, maxMarks-marks(req.System))
	b.Add([]byte("]}"))
	return b, s, nil
}

func addMessages(b *sse.Body, h *model.History, left int) {
	comma := []byte(",")
	last := h.Len() - 1
	before := asked(h, last)
	for i := range h.Len() {
		if i > 0 {
			b.Add(comma)
		}
		if left > 0 && (i == last || i == before && left > 1) {
			addMarked(b, h.JSON(i))
		} else {
			b.Add(h.JSON(i))
		}
	}
}

// asked is the message that was the last one of the request before this, -1 if
// there was none. Its mark is sent again: a provider looks for what it knows a
// limited number of blocks back from a mark, and a turn with many calls is more.
func asked(h *model.History, last int) int {
	i := last - 1
	for i >= 0 && !isAssistant(h.JSON(i)) {
		i-- // what joined with the last message
	}
	for i >= 0 && isAssistant(h.JSON(i)) {
		i--
	}
	return i
}

func isAssistant(message []byte) bool { return bytes.HasPrefix(message, []byte(`{"role":"assistant"`)) }

// maxMarks is how many cache marks the API takes.
const maxMarks = 4

var mark = []byte(`,"cache_control":{"type":"ephemeral"}`)

// addMarked adds a message with a cache mark in its last block. A message whose
// last block cannot have one goes without.
func addMarked(b *sse.Body, message []byte) {
	at := markAt(message)
	if at < 0 {
		b.Add(message)
		return
	}
	b.Add(message[:at])
	b.Add(mark)
	b.Add(message[at:])
}

// markAt returns where the last block of a message ends, -1 if it can have no
// mark: content that is a string, thoughts, and blocks that have one.
func markAt(message []byte) int {
	if isAssistant(message) || bytes.Contains(message, []byte(`"cache_control":`)) {
		return -1
	}
	at := len(message)
	for _, want := range []byte("}]}") { // the end of the message, its content, the block
		rest := bytes.TrimRight(message[:at], " \t\r\n")
		if len(rest) == 0 || rest[len(rest)-1] != want {
			return -1
		}
		at = len(rest) - 1
	}
	if bytes.HasSuffix(bytes.TrimRight(message[:at], " \t\r\n"), []byte("{")) {
		return -1
	}
	return at
}

func marks(system []model.System) int {
	n := 0
	for _, part := range system {
		if part.Cache && part.Text != "" {
			n++
		}
	}
	return min(n, maxMarks-1)
}

// A head has the members of a request before its tools and messages.
type head struct {
	Model     string       `json:"model"`
	MaxTokens int          `json:"max_tokens"`
	Stream    bool         `json:"stream"`
	Metadata  *metadata    `json:"metadata,omitempty"`
	Thinking  *thinking    `json:"thinking,omitempty"`
	Output    *output      `json:"output_config,omitempty"`
	System    []systemPart `json:"system,omitempty"`
}

type metadata struct {
	User string `json:"user_id"`
}

type output struct {
	Effort string      `json:"effort,omitempty"`
	Budget *taskBudget `json:"task_budget,omitempty"`
}

type taskBudget struct {
	Type  string `json:"type"`
	Total int    `json:"total"`
}

func newHead(req *model.Request, without features) (*head, *settings) {
	s := settingsOf(req, without)
	h := &head{Model: s.model, MaxTokens: s.maxTokens, Stream: true, Thinking: s.thinking, System: systemParts(req.System)}
	if req.Session != "" {
		h.Metadata = &metadata{req.Session}
	}
	if s.effort != "" || s.budget != nil {
		h.Output = &output{s.effort, s.budget}
	}
	return h, s
}

type systemPart struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	Cache json.RawMessage `json:"cache_control,omitempty"`
}

// systemParts encodes the system prompt; if too many parts are marked, the last
// marks count, because each covers everything before it.
func systemParts(system []model.System) []systemPart {
	parts := make([]systemPart, 0, len(system))
	for _, s := range system {
		if s.Text != "" { // the API takes no empty text
			parts = append(parts, systemPart{Type: "text", Text: s.Text})
		}
	}
	left := maxMarks - 1
	for i, at := len(system)-1, len(parts); i >= 0 && left > 0; i-- {
		if system[i].Text == "" {
			continue
		}
		at--
		if system[i].Cache {
			parts[at].Cache = json.RawMessage(`{"type":"ephemeral"}`)
			left--
		}
	}
	return parts
}
