package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/haftdev/haft/internal/models/sse"
	"github.com/haftdev/haft/model"
)

// An answer is made of the chunks of a stream. This API has no blocks: they begin
// where another kind of thing is said and end where the next one begins.
type answer struct {
	stream *sse.Stream
	yield  func(model.Event, error) bool
	tools  map[string]bool // that the model was given
	turn   int             // makes the names of calls unique that the server does not name

	started bool
	blocks  int    // that have begun
	saying  *block // the open text or thought
	spoken  spoken
	calls   []*toolCall
	finish  string
	done    bool // the server said that this is all
	usage   model.Usage
	whole   bool // the answer came to its end
}

type block struct {
	index int
	kind  model.BlockType
	text  strings.Builder
}

// A toolCall is one of the answer.
type toolCall struct {
	block
	slot   int // the server's index, -1 if it gave none
	id     string
	name   string
	opened bool
	closed bool
}

// play reads the stream to its end, or to where it breaks.
func (a *answer) play() {
	if doc := a.stream.Whole(); doc != nil {
		if a.take(doc, true) {
			a.end(io.EOF)
		}
		return
	}
	for !a.done {
		ev, err := a.stream.Next()
		if err != nil {
			a.end(err)
			return
		}
		if string(ev.Data) == "[DONE]" {
			a.done = true
		} else if !a.take(ev.Data, false) {
			return
		}
	}
	a.end(io.EOF)
}

// end is what happens when nothing more comes. Why the answer stops has been said
// by then, or it broke off; some servers then say nothing more, and some hang.
func (a *answer) end(err error) {
	e, ours := errors.AsType[*model.Error](err)
	over := err == io.EOF || ours && (e.Kind == model.ConnectionLost || e.Kind == model.Stalled)
	switch {
	case over && a.started && (a.finish != "" || a.done):
		if a.speak("", true) && a.closeText() && a.closeCalls(true) {
			a.whole = true
			a.yield(model.Stop{Reason: stopReason(a.finish, len(a.calls) > 0), Usage: a.usage}, nil)
		}
	case err == io.EOF:
		a.fail(&model.Error{Kind: model.ConnectionLost, Message: "the answer ended early", Err: io.ErrUnexpectedEOF})
	default:
		a.fail(err)
	}
}

func stopReason(finish string, called bool) model.StopReason {
	switch finish {
	case "length":
		return model.MaxTokens
	case "content_filter":
		return model.Refusal
	}
	if called { // Ollama says stop
		return model.StopToolUse
	}
	return model.EndTurn
}

func (a *answer) fail(err error) bool {
	a.yield(nil, err)
	return false
}

// take handles one chunk, and reports whether to continue.
func (a *answer) take(raw []byte, document bool) bool {
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return a.fail(sse.Garbled("a chunk is not JSON", err))
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return a.fail(sse.Parse(raw))
	}
	if document && len(c.Choices) == 0 {
		return a.fail(sse.Garbled("it is not a completion", nil))
	}
	if c.Usage != nil {
		a.usage = c.Usage.tokens()
	}
	if !a.started {
		a.started = true
		if !a.yield(model.Start{ID: c.ID, Model: c.Model, Usage: a.usage}, nil) {
			return false
		}
	}
	for i := range c.Choices {
		if !a.choice(&c.Choices[i]) {
			return false
		}
	}
	return true
}

func (a *answer) choice(c *choice) bool {
	if c.Index != 0 {
		return true // nobody asked for a second answer
	}
	d := &c.Delta
	if c.Message != nil {
		d = c.Message
	}
	thought := d.ReasoningContent
	if thought == "" {
		thought = d.Reasoning // those that send both send the same
	}
	if !a.say(model.Thinking, model.ThinkingDelta, string(thought)) ||
		!a.speak(string(d.Content), false) ||
		!a.say(model.Text, model.TextDelta, string(d.Refusal)) {
		return false
	}
	calls := d.Calls
	if d.FunctionCall != nil { // the form before there could be several
		first := callDelta{Index: new(int)}
		first.Function = *d.FunctionCall
		calls = append(calls, first)
	}
	if len(calls) > 0 && !a.speak("", true) {
		return false
	}
	for i := range calls {
		if !a.call(&calls[i]) {
			return false
		}
	}
	if c.Finish != "" {
		a.finish = c.Finish
	}
	return true
}

// say adds to the open text or thought, or begins one.
func (a *answer) say(kind model.BlockType, delta model.DeltaType, text string) bool {
	if text == "" {
		return true
	}
	if a.saying == nil || a.saying.kind != kind {
		if a.saying == nil && kind == model.Text && strings.TrimSpace(text) == "" && len(a.calls) > 0 {
			return true // a line break after a call is not worth a block
		}
		if !a.closeText() || !a.closeCalls(false) {
			return false
		}
		a.saying = &block{index: a.blocks, kind: kind}
		a.blocks++
		if !a.yield(model.BlockStart{Index: a.saying.index, Block: model.Block{Type: kind}}, nil) {
			return false
		}
	}
	a.saying.text.WriteString(text)
	return a.yield(model.Delta{Index: a.saying.index, Type: delta, Text: text}, nil)
}

func (a *answer) closeText() bool {
	b := a.saying
	if b == nil {
		return true
	}
	a.saying = nil
	return a.yield(model.BlockStop{Index: b.index, Block: model.Block{Type: b.kind, Text: b.text.String()}}, nil)
}

// call adds to a call, or begins one.
func (a *answer) call(d *callDelta) bool {
	c := a.find(d)
	if c == nil {
		if !a.closeText() || !a.closeCalls(false) {
			return false
		}
		c = &toolCall{slot: -1, id: d.ID}
		if d.Index != nil {
			c.slot = *d.Index
		}
		a.calls = append(a.calls, c)
	}
	if c.name == "" {
		c.name = d.Function.Name
	}
	if c.id == "" {
		c.id = d.ID
	}
	piece := string(d.Function.Arguments)
	if c.closed {
		if strings.TrimSpace(piece) == "" {
			return true
		}
		return a.fail(sse.Garbled("the arguments of a tool call continued after their end", nil))
	}
	c.text.WriteString(piece)
	if !c.opened {
		if c.name == "" {
			return true // it will come
		}
		piece = c.text.String()
		if !a.open(c) {
			return false
		}
	}
	return piece == "" || a.yield(model.Delta{Index: c.index, Type: model.InputDelta, Text: piece}, nil)
}

// find returns the call that a delta belongs to; nil if it begins a new one.
// Servers that send several calls under one index give each its own id and name,
// and those without an index continue with the last one.
func (a *answer) find(d *callDelta) *toolCall {
	begins := d.ID != "" && d.Function.Name != ""
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		switch {
		case d.ID != "" && d.ID == c.id:
			if d.Index == nil || *d.Index == c.slot {
				return c
			}
		case begins:
		case d.Index == nil && i == len(a.calls)-1 && d.Function.Name == "":
			return c
		case d.Index != nil && *d.Index == c.slot:
			if d.Function.Name != "" && c.opened && json.Valid([]byte(c.text.String())) {
				return nil // a whole call after a whole call
			}
			return c
		}
	}
	return nil
}

func (a *answer) open(c *toolCall) bool {
	if c.id == "" {
		c.id = fmt.Sprintf("call_%d_%d", a.turn, a.blocks)
	}
	c.index, c.opened = a.blocks, true
	a.blocks++
	return a.yield(model.BlockStart{Index: c.index, Block: model.Block{Type: model.ToolUse, ID: c.id, Name: c.name}}, nil)
}

// closeCalls ends the calls that are whole, so that they can be run while the
// answer continues; at the end of the answer, all.
func (a *answer) closeCalls(end bool) bool {
	for _, c := range a.calls {
		input := strings.TrimSpace(c.text.String())
		if c.closed || !end && (!c.opened || !json.Valid([]byte(input))) {
			continue
		}
		if !c.opened && !a.open(c) { // a call without a name; running it reports that
			return false
		}
		c.closed = true
		if input == "" {
			input = "{}"
		}
		whole := model.Block{Type: model.ToolUse, ID: c.id, Name: c.name, Input: json.RawMessage(input)}
		if !a.yield(model.BlockStop{Index: c.index, Block: whole}, nil) {
			return false
		}
	}
	return true
}

// speak takes a piece of text; end says that it was the last one.
func (a *answer) speak(text string, end bool) bool {
	s := &a.spoken
	s.held += text
	for more := true; more; {
		if s.trim {
			s.held = strings.TrimLeft(s.held, "\r\n")
			if s.trim = s.held == ""; s.trim {
				return true
			}
		}
		var ok bool
		switch s.mode {
		case "":
			more, ok = s.begin(end), true
		case thinkTag:
			more, ok = a.thought(end)
		case callTag:
			more, ok = a.written(end)
		default:
			more, ok = a.plain(end)
		}
		if !ok {
			return false
		}
	}
	return true
}

// thought passes on what is thought, up to its end.
func (a *answer) thought(end bool) (more, ok bool) {
	s := &a.spoken
	before, rest, closed := strings.Cut(s.held, thinkEnd)
	if closed {
		s.mode, s.held, s.trim = "text", rest, true
		return true, a.say(model.Thinking, model.ThinkingDelta, before)
	}
	said := s.held
	if !end {
		said = s.held[:len(s.held)-begun(s.held, thinkEnd)]
	}
	s.held = s.held[len(said):]
	return false, a.say(model.Thinking, model.ThinkingDelta, said)
}

// plain passes on text, up to a call.
func (a *answer) plain(end bool) (more, ok bool) {
	s := &a.spoken
	at := strings.Index(s.held, callTag)
	if at >= 0 {
		before := s.held[:at]
		if s.startsLine(before) {
			s.mode, s.held = callTag, s.held[at+len(callTag):]
			return true, a.text(before)
		}
		s.held = s.held[at+len(callTag):]
		return true, a.text(before + callTag)
	}
	said := s.held
	if !end {
		said = s.held[:len(s.held)-begun(s.held, callTag)]
	}
	s.held = s.held[len(said):]
	return false, a.text(said)
}

// text passes on text, which is remembered to know where a line begins.
func (a *answer) text(text string) bool {
	a.spoken.all.WriteString(text)
	return a.say(model.Text, model.TextDelta, text)
}

// written makes a call of what is between the tags, if it is one of a tool that the model
// was given; else it is text.
func (a *answer) written(end bool) (more, ok bool) {
	s := &a.spoken
	before, rest, closed := strings.Cut(s.held, callEnd)
	if !closed && !end {
		return false, true
	}
	var call struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	s.mode = "text"
	if !closed || json.Unmarshal([]byte(before), &call) != nil || !a.tools[call.Name] {
		said := callTag + before
		if closed {
			said += callEnd
		}
		s.held = rest
		s.all.WriteString(said)
		return closed, a.say(model.Text, model.TextDelta, said)
	}
	s.held, s.trim = rest, true
	d := new(callDelta)
	d.Function.Name = call.Name
	for _, raw := range []json.RawMessage{call.Arguments, call.Parameters} {
		if len(raw) > 0 && d.Function.Arguments == "" {
			if err := json.Unmarshal(raw, &d.Function.Arguments); err != nil {
				return true, a.fail(err)
			}
		}
	}
	return true, a.call(d)
}

// begun is how many bytes at the end of a text may be the beginning of a tag.
func begun(text, tag string) int {
	for n := min(len(tag)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}
