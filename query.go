package haft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/haftdev/haft/tool/schema"
	"github.com/haftdev/haft/wire"
)

var (
	errUnfinished   = errors.New("the session ended before the turn finished")
	errUnstructured = errors.New("the agent returned no structured output")
)

// Query asks one question and yields what happens, up to the end. If the last result is an
// error, Query yields that result and then a *[ResultError]. A command line that ends
// without a result is an error, too. Leaving the loop ends the run. Nil options mean the
// defaults.
func Query(ctx context.Context, prompt string, opts *Options) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		c, err := start(ctx, opts.clone(), true)
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.Close()
		sent := c.SendMessage(wire.Prompt(prompt))
		if sent != nil {
			c.endSoon() // the way it ended says more than that error
		}
		for m, err := range c.Messages() {
			if err != nil {
				yield(nil, c.verdict(err))
				return
			}
			if !yield(m, nil) {
				return
			}
		}
		if err := c.verdict(sent); err != nil {
			yield(nil, err)
		}
	}
}

// Ask asks one question and returns the result. If the result is an error, Ask returns it
// together with a *[ResultError].
func Ask(ctx context.Context, prompt string, opts *Options) (*Result, error) {
	var last *Result
	for m, err := range Query(ctx, prompt, opts) {
		if err != nil {
			return last, err
		}
		if r, ok := m.(*Result); ok {
			last = r
		}
	}
	return last, nil
}

// QueryInto asks one question whose answer is a T, which must be a struct. The model must
// fill in its fields, as described by their json and jsonschema tags; see package
// tool/schema. A run that ended with a result returns it also with an error, because it says
// what the run has cost.
func QueryInto[T any](ctx context.Context, prompt string, opts *Options) (T, *Result, error) {
	var answer T
	o := opts.clone()
	s := schema.Of[T]()
	if err := s.Err(); err != nil {
		return answer, nil, fmt.Errorf("derive the schema of the answer: %w", err)
	}
	o.OutputSchema = withoutDialect(s.View(nil).JSON())
	result, err := Ask(ctx, prompt, o)
	if err != nil {
		return answer, result, err
	}
	if len(result.StructuredOutput) == 0 {
		return answer, result, errUnstructured
	}
	if err := json.Unmarshal(result.StructuredOutput, &answer); err != nil {
		return answer, result, fmt.Errorf("decode the answer: %w", err)
	}
	return answer, result, nil
}

// withoutDialect removes $schema: a validator that knows one dialect refuses the name of
// another, even if the schema means the same in both.
func withoutDialect(raw json.RawMessage) json.RawMessage {
	var s map[string]json.RawMessage
	if json.Unmarshal(raw, &s) != nil {
		return raw
	}
	delete(s, "$schema")
	plain, err := json.Marshal(s)
	if err != nil {
		return raw
	}
	return plain
}
