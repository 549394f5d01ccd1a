package sse

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/haftdev/haft/model"
)

// Advice is what a client knows that helps with its errors.
type Advice struct {
	Server string // its address
	Model  string // what was asked for
	// Address names the setting of the server's address, Credentials says what to
	// do about a key that is refused.
	Address, Credentials string
}

// Advise adds to an error what can be done about it.
func Advise(err error, a *Advice) error {
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return err
	}
	told := *e
	switch e.Kind {
	case model.Unauthorized:
		told.Message = "the API rejected the credentials: " + sentence(e.Message) + a.Credentials
	case model.Billing:
		told.Message = "the account has no credit for this request: " + sentence(e.Message) + "Add credit or use another key"
	case model.UnknownModel:
		told.Message = fmt.Sprintf("there is no model %q at %s: %sChoose another model, or check %s", a.Model, a.Server, sentence(e.Message), a.Address)
	case model.PromptTooLong:
		told.Message = "the conversation is too long for the model: " + sentence(e.Message) + "Compact the conversation, or start a new one"
	case model.ConnectionLost:
		if unknown, ok := errors.AsType[*net.DNSError](e); ok && unknown.IsNotFound {
			told.Message = unknown.Name + " was not found: check the address or the network"
		}
	case model.RateLimited:
		told.Message = "the rate limit is reached: " + e.Message
	case model.Overloaded:
		told.Message = "the model's servers are overloaded: " + e.Message
	case model.ServerFailure:
		told.Message = "the model's server failed: " + e.Message
	case model.InvalidRequest:
		if e.Status != 0 {
			told.Message = "the API rejected the request: " + e.Message
		}
	}
	return &told
}

// sentence ends what a server said so that something can follow.
func sentence(s string) string {
	if s = strings.TrimRight(s, ". \n"); s == "" {
		return ""
	}
	return s + ". "
}

// Refused reports whether a request was refused for one of the features named,
// or for one that the server does not know at all. What is wrong with the
// conversation itself is another matter.
func Refused(err error, features []string) bool {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Status != 400 && e.Status != 422 {
		return false
	}
	said := strings.ToLower(e.Message)
	if strings.Contains(said, "messages.") {
		return false
	}
	return containsAny(said, features) || containsAny(said, []string{"extra inputs", "extra_forbidden", "unexpected field", "unknown field", "unrecognized request argument"})
}
