package model

import (
	"context"
	"encoding/json"
	"iter"
)

// A Model answers requests.
type Model interface {
	// Stream sends the request and returns the answer as it arrives. After an error there
	// are no more events. Leaving the loop, or the end of ctx, ends the request. A complete
	// stream ends with a [Stop] event; a stream never ends without either a Stop or an
	// error.
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// A Request is one request to a model. A Model must not change it.
type Request struct {
	// Model is the provider's name for the model.
	Model string
	// System is what comes before the conversation.
	System []System
	// Tools is the JSON array of [tool.Set.Request]; nil means none.
	Tools json.RawMessage
	// Messages are the conversation. It ends with the user's side.
	Messages *History
	// MaxTokens is the maximum length of the answer; 0 means as long as the model allows.
	MaxTokens int
	// Thinking says how the model thinks; nil leaves it to the client.
	Thinking *ThinkingOptions
	// Effort is low, medium, high…; "" leaves it to the provider.
	Effort string
	// TaskBudget is how many tokens the model is told that its whole work may take; 0 tells
	// it nothing.
	TaskBudget int
	// Betas name features of the API that are not on by default.
	Betas []string
	// TextOnly asks for no tool calls while the tools stay described, for a summary that must
	// not disturb the cached prefix. A client forbids calls only if that does not invalidate
	// the cache. With Anthropic it would, so say it in the last message too, and be prepared
	// for a call.
	TextOnly bool
	// Session names the conversation to the provider; "" does not.
	Session string
}

// System is one part of the system prompt.
type System struct {
	Text string
	// Cache marks the end of a part that stays the same from turn to turn.
	Cache bool
}

// ThinkingOptions say how much a model thinks before it answers.
type ThinkingOptions struct {
	// Mode is adaptive, enabled or disabled.
	Mode string
	// Budget is how many tokens thinking may take in mode enabled; 0 means nearly all.
	Budget int
	// Display is how thoughts are shown: summarized, updates…; "" means the provider's
	// default.
	Display string
}
