package runs

import (
	"time"
)

// A Deed is something that a user did. It is written before it is done, so a deed that failed is there, too.
type Deed struct {
	At   time.Time `json:"at"`
	What string    `json:"what"` // such as submit, answer or cancel
	Run  string    `json:"run,omitempty"`
	By   string    `json:"by,omitempty"` // the user, as far as the program knows
	// Key is the key that the program had.
	Key    string `json:"key,omitempty"`
	Detail string `json:"detail,omitempty"`
}
