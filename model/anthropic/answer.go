package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/haftdev/haft/internal/models/sse"
	"github.com/haftdev/haft/model"
)

// An answer is made of the events of a stream.
type answer struct {
	stream  *sse.Stream
	started bool
	open    map[int]*block
	usage   model.Usage
	stop    model.Stop
	whole   bool // the answer came to its end

	ev wireEvent // the last one, kept to be filled again
}

// wireEvent has every field of the events that matter.
type wireEvent struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message *wireMessage    `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   wireDelta       `json:"delta"`
	Usage   *wireUsage      `json:"usage"`
}

type wireMessage struct {
	ID           string            `json:"id"`
	Model        string            `json:"model"`
	Content      []json.RawMessage `json:"content"`
	StopReason   model.StopReason  `json:"stop_reason"`
	StopSequence string            `json:"stop_sequence"`
	Usage        *wireUsage        `json:"usage"`
}

type wireDelta struct {
	Type         model.DeltaType  `json:"type"`
	Text         string           `json:"text"`
	Thinking     string           `json:"thinking"`
	PartialJSON  string           `json:"partial_json"`
	Signature    string           `json:"signature"`
	Citation     json.RawMessage  `json:"citation"`
	StopReason   model.StopReason `json:"stop_reason"`
	StopSequence string           `json:"stop_sequence"`
}

// wireUsage has the counts of a message so far; those that are missing stay as
// they were.
type wireUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Server     *struct {
		Searches int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

func (w *wireUsage) into(u *model.Usage) {
	if w == nil {
		return
	}
	for _, count := range []struct {
		from *int64
		to   *int64
	}{{w.Input, &u.Input}, {w.Output, &u.Output}, {w.CacheRead, &u.CacheRead}, {w.CacheWrite, &u.CacheWrite}} {
		if count.from != nil {
			*count.to = *count.from
		}
	}
	if w.Server != nil {
		u.Searches = w.Server.Searches
	}
}

// events reads the stream to its end, or to where it breaks.
func (a *answer) events() iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if doc := a.stream.Whole(); doc != nil {
			a.replay(doc, yield)
			return
		}
		for !a.whole {
			ev, err := a.stream.Next()
			if err != nil {
				a.end(err, yield)
				return
			}
			if !a.take(ev, yield) {
				return
			}
		}
	}
}

// end is what happens when no event comes any more. An answer that has said why
// it stops is whole: some servers leave out the last event.
func (a *answer) end(err error, yield func(model.Event, error) bool) {
	lost, ok := errors.AsType[*model.Error](err)
	over := err == io.EOF || ok && lost.Kind == model.ConnectionLost
	switch {
	case over && a.stop.Reason != "" && len(a.open) == 0:
		a.finish(yield)
	case err == io.EOF:
		yield(nil, &model.Error{Kind: model.ConnectionLost, Message: "the answer ended early", Err: io.ErrUnexpectedEOF})
	default:
		yield(nil, err)
	}
}

func (a *answer) finish(yield func(model.Event, error) bool) bool {
	a.whole = true
	a.stop.Usage = a.usage
	return yield(a.stop, nil)
}

// take handles one event, and reports whether to continue.
func (a *answer) take(raw sse.Event, yield func(model.Event, error) bool) bool {
	ev := &a.ev
	*ev = wireEvent{}
	if quickDelta(raw.Data, ev) {
		return a.delta(ev, raw.Data, yield)
	}
	if err := json.Unmarshal(raw.Data, ev); err != nil {
		return yieldError(yield, sse.Garbled("an event is not JSON", err))
	}
	switch ev.Type {
	case "content_block_delta":
		return a.delta(ev, raw.Data, yield)
	case "content_block_start":
		return a.startBlock(ev.Index, ev.Block, yield)
	case "content_block_stop":
		return a.stopBlock(ev.Index, yield)
	case "message_start":
		return a.start(ev.Message, yield)
	case "message_delta":
		ev.Usage.into(&a.usage)
		a.stop.Reason, a.stop.Sequence = ev.Delta.StopReason, ev.Delta.StopSequence
		return true
	case "message_stop":
		if !a.started {
			return yieldError(yield, sse.Garbled("it ends without having started", nil))
		}
		return a.finish(yield)
	case "error":
		return yieldError(yield, reported(raw.Data))
	case "":
		if string(raw.Name) == "error" {
			return yieldError(yield, reported(raw.Data))
		}
	}
	return true // ping, and what is not invented yet
}

func (a *answer) start(m *wireMessage, yield func(model.Event, error) bool) bool {
	if m == nil || a.started {
		return yieldError(yield, sse.Garbled("it starts with no message, or more than once", nil))
	}
	a.started = true
	a.open = map[int]*block{}
	m.Usage.into(&a.usage)
	return yield(model.Start{ID: m.ID, Model: m.Model, Usage: a.usage}, nil)
}

func (a *answer) startBlock(index int, raw json.RawMessage, yield func(model.Event, error) bool) bool {
	if !a.started || a.open[index] != nil {
		return yieldError(yield, sse.Garbled(fmt.Sprintf("block %d starts out of order", index), nil))
	}
	b, err := newBlock(raw)
	if err != nil {
		return yieldError(yield, sse.Garbled(fmt.Sprintf("block %d cannot be read", index), err))
	}
	a.open[index] = b
	if !yield(model.BlockStart{Index: index, Block: b.head()}, nil) {
		return false
	}
	if d, ok := b.first(); ok { // what came with the beginning
		d.Index = index
		return yield(d, nil)
	}
	return true
}

func (a *answer) delta(ev *wireEvent, raw []byte, yield func(model.Event, error) bool) bool {
	b := a.open[ev.Index]
	if b == nil {
		return yieldError(yield, sse.Garbled(fmt.Sprintf("it continues block %d, which has not started", ev.Index), nil))
	}
	text, err := b.add(&ev.Delta, raw)
	if err != nil {
		return yieldError(yield, sse.Garbled(fmt.Sprintf("part of block %d cannot be read", ev.Index), err))
	}
	return yield(model.Delta{Index: ev.Index, Type: ev.Delta.Type, Text: text}, nil)
}

func (a *answer) stopBlock(index int, yield func(model.Event, error) bool) bool {
	b := a.open[index]
	if b == nil {
		return yieldError(yield, sse.Garbled(fmt.Sprintf("block %d ends without having started", index), nil))
	}
	delete(a.open, index)
	done, err := b.done()
	if err != nil {
		return yieldError(yield, sse.Garbled(fmt.Sprintf("block %d cannot be assembled", index), err))
	}
	return yield(model.BlockStop{Index: index, Block: done}, nil)
}

// replay plays the document of a server that does not stream as if it did.
func (a *answer) replay(doc []byte, yield func(model.Event, error) bool) {
	var m struct {
		Type string `json:"type"`
		wireMessage
	}
	if err := json.Unmarshal(doc, &m); err != nil || m.Type != "message" {
		if e := reported(doc); m.Type == "error" || e.(*model.Error).Message != "" {
			yield(nil, e)
			return
		}
		yield(nil, sse.Garbled("it is not a message", err))
		return
	}
	if !a.start(&m.wireMessage, yield) {
		return
	}
	for i, raw := range m.Content {
		if !a.startBlock(i, raw, yield) || !a.stopBlock(i, yield) {
			return
		}
	}
	a.stop.Reason, a.stop.Sequence = m.StopReason, m.StopSequence
	a.finish(yield)
}

// yieldError ends a stream.
func yieldError(yield func(model.Event, error) bool, err error) bool {
	yield(nil, err)
	return false
}

// reported is an error that the server reports in its answer.
func reported(raw []byte) error {
	e := sse.Parse(raw)
	if e.Message == "" && e.Type != "" {
		e.Message = e.Type
	}
	return e
}
