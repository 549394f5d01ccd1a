package model

import (
	"fmt"
	"time"
)

// An Error is what went wrong between haft and a model.
type Error struct {
	// Kind is what to do about it.
	Kind ErrorKind
	// Status is the HTTP status; 0 if there was no answer.
	Status int
	// Type is the provider's name for it, such as overloaded_error.
	Type string
	// Message is for people: what happened and, if known, what to do.
	Message string
	// RetryAfter is how long the provider asks the client to wait; 0 means that it did not
	// say.
	RetryAfter time.Duration
	// ShouldRetry reports whether the same request may succeed later, if more is known than
	// Kind says; nil means that Kind decides.
	ShouldRetry *bool
	// Err is the cause; may be nil.
	Err error
}

// ErrorKind sorts errors by what can be done about them.
type ErrorKind string

const (
	Unauthorized   ErrorKind = "authentication_failed"
	Billing        ErrorKind = "billing_error"
	RateLimited    ErrorKind = "rate_limit"
	Overloaded     ErrorKind = "overloaded"
	InvalidRequest ErrorKind = "invalid_request"
	PromptTooLong  ErrorKind = "prompt_too_long"
	UnknownModel   ErrorKind = "model_not_found"
	ServerFailure  ErrorKind = "server_error"
	// ConnectionLost means that an answer was cut off, or that the server could not be
	// reached.
	ConnectionLost ErrorKind = "connection_lost"
	// Stalled means that nothing arrived on a connection for too long.
	Stalled ErrorKind = "stalled"
	// Garbled means that the response could not be parsed.
	Garbled ErrorKind = "garbled"
)

// WireName is the kind as the wire and hooks spell it, which know fewer kinds.
func (k ErrorKind) WireName() string {
	switch k {
	case Unauthorized, Billing, RateLimited, Overloaded, InvalidRequest, UnknownModel, ServerFailure:
		return string(k)
	case PromptTooLong:
		return string(InvalidRequest)
	}
	return "unknown"
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s (status %d)", e.Message, e.Status)
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	if e.ShouldRetry != nil {
		return *e.ShouldRetry
	}
	switch e.Kind {
	case RateLimited, Overloaded, ServerFailure, ConnectionLost, Stalled, Garbled:
		return true
	}
	return false
}
