package runs

import (
	"encoding/json"
	"errors"
)

// An Outcome is how the turn of a prompt ended.
type Outcome struct {
	IsError bool    `json:"is_error"`
	Reason  string  `json:"reason,omitempty"` // why it ended, as the result says
	Text    string  `json:"text"`             // the answer, or what was wrong
	CostUSD float64 `json:"cost_usd"`
	Worker  string  `json:"worker"`
	// Result is the result of the turn as the wire has it; nil for a turn that had none.
	Result json.RawMessage `json:"result,omitempty"`
}

// ErrPending is the error for a prompt without an outcome.
var ErrPending = errors.New("the prompt has no outcome yet")
