package workspace

import (
	"fmt"
)

// Code says why something was refused.
type Code int

// The numbers are part of the wire format: tools report them with their problems.
const (
	Malformed    Code = 1
	Relative     Code = 2
	Missing      Code = 3
	IsDirectory  Code = 4
	NotAFile     Code = 5 // device, FIFO, socket
	NoPermission Code = 6
	TooLarge     Code = 7
	Binary       Code = 8
	Unread       Code = 9
	Stale        Code = 10
	Conflict     Code = 11
	Swapped      Code = 12 // replaced while it was being opened
	Empty        Code = 13
	Exists       Code = 14
	Busy         Code = 15 // another process is changing it
)

// Refusal says why nothing was done, and what to do next. Its text is written for the model.
type Refusal struct {
	Code Code
	text string
}

func (r *Refusal) Error() string { return r.text }

func refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{code, fmt.Sprintf(format, args...)}
}
