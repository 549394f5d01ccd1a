package model

import "time"

// An Event is a piece of an answer: one of [Start], [BlockStart], [Delta],
// [BlockStop], [Stop], [Retry], [Fallback] and [Adjusted].
type Event interface{ event() }

// Start begins an answer. A second Start means that the first answer was cut off and must be
// discarded.
type Start struct {
	ID    string // the provider's name of the message
	Model string // the model that answers
	Usage Usage  // what the question cost
}

// BlockStart begins a block. Its Block has the type and, for a tool_use, ID and Name; the
// rest comes as deltas.
type BlockStart struct {
	Index int
	Block Block
}

// Delta is a piece of a block.
type Delta struct {
	Index int
	// Type is text_delta, thinking_delta, input_json_delta, signature_delta…
	Type DeltaType
	Text string
}

// DeltaType is the kind of a [Delta], spelled as on the wire.
type DeltaType string

const (
	TextDelta      DeltaType = "text_delta"
	ThinkingDelta  DeltaType = "thinking_delta"
	InputDelta     DeltaType = "input_json_delta"
	SignatureDelta DeltaType = "signature_delta"
)

// BlockStop ends a block, which is now complete. The input of a tool_use is what the model
// wrote, valid JSON or not.
type BlockStop struct {
	Index int
	Block Block
}

// Stop ends an answer.
type Stop struct {
	Reason   StopReason
	Sequence string // the sequence that a stop_sequence stopped at
	Usage    Usage  // of the whole answer
}

// StopReason is why an answer ended, spelled as on the wire.
type StopReason string

const (
	EndTurn         StopReason = "end_turn"
	MaxTokens       StopReason = "max_tokens"
	StopSequence    StopReason = "stop_sequence"
	StopToolUse     StopReason = "tool_use"
	PauseTurn       StopReason = "pause_turn"
	Refusal         StopReason = "refusal"
	ContextExceeded StopReason = "model_context_window_exceeded"
)

// Retry says that the request failed and is sent again after Delay.
type Retry struct {
	Attempt, Max int
	Delay        time.Duration
	Err          *Error
}

// Fallback says that this request goes to another model. A caller that wants to stay with
// it asks for it in the next request.
type Fallback struct {
	From, To string
	Err      *Error
}

// Adjusted says that a request was changed before it was sent, because the model or its
// server does not support what was asked for. It comes with every such request.
type Adjusted struct{ Text string }

func (Start) event()      {}
func (BlockStart) event() {}
func (Delta) event()      {}
func (BlockStop) event()  {}
func (Stop) event()       {}
func (Retry) event()      {}
func (Fallback) event()   {}
func (Adjusted) event()   {}

// Usage is what an answer cost, in tokens.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	// Searches are the provider's own web searches.
	Searches int64 `json:"-"`
}

// Add returns the sum of two usages.
func (u Usage) Add(o Usage) Usage {
	return Usage{u.Input + o.Input, u.Output + o.Output, u.CacheRead + o.CacheRead, u.CacheWrite + o.CacheWrite, u.Searches + o.Searches}
}

// Minus returns u minus o.
func (u Usage) Minus(o Usage) Usage {
	return Usage{u.Input - o.Input, u.Output - o.Output, u.CacheRead - o.CacheRead, u.CacheWrite - o.CacheWrite, u.Searches - o.Searches}
}

// Context is how much of the model's context the exchange fills.
func (u Usage) Context() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }
