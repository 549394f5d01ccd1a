package wire

import (
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// A Request is what a control request asks for: a pointer to one of this
// package's request types. Each says which type its answer has.
type Request interface {
	// Subtype is the request's name on the wire.
	Subtype() string
	base() *Base
}

// ControlRequest asks the other side for something.
type ControlRequest struct {
	Base
	RequestID string  `json:"request_id" wire:"nonempty"`
	Request   Request `json:"request"`
}

// Tag is control_request.
func (*ControlRequest) Tag() Tag { return Tag{Type: "control_request"} }

// MarshalJSON writes the request with its subtype.
func (c ControlRequest) MarshalJSON() ([]byte, error) {
	request, err := encodeRequest(c.Request)
	if err != nil {
		return nil, err
	}
	return plainjson.Marshal(struct {
		RequestID string          `json:"request_id"`
		Request   json.RawMessage `json:"request"`
	}{c.RequestID, request})
}

// UnmarshalJSON reads the request by its subtype.
func (c *ControlRequest) UnmarshalJSON(raw []byte) error {
	var envelope struct {
		RequestID string          `json:"request_id"`
		Request   json.RawMessage `json:"request"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return err
	}
	request, err := decodeRequest(envelope.Request)
	c.RequestID, c.Request = envelope.RequestID, request
	return err
}

// UnknownRequest is a request that this package does not know, or whose fields do not have
// the right types.
type UnknownRequest struct {
	Base
	Name string
	// Body is the whole request.
	Body json.RawMessage
	// Err says what is wrong with the fields of a known request.
	Err error
}

// Subtype returns the subtype in the request.
func (u *UnknownRequest) Subtype() string { return u.Name }

func encodeRequest(r Request) (json.RawMessage, error) {
	switch r := r.(type) {
	case nil:
		return nil, fmt.Errorf("control request without a request")
	case *UnknownRequest:
		return r.Body, nil
	}
	return tagged(r, r.base().Extra, "subtype", r.Subtype())
}

// decodeRequest fails only if raw is not an object with a subtype. A request that is
// malformed otherwise can still be answered, with an error.
func decodeRequest(raw json.RawMessage) (Request, error) {
	var name struct {
		Subtype string `json:"subtype"`
	}
	if err := json.Unmarshal(raw, &name); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	k := requestKindOf(name.Subtype)
	if k == nil {
		return &UnknownRequest{Name: name.Subtype, Body: raw}, nil
	}
	r := k.New()
	if err := json.Unmarshal(raw, r); err != nil {
		return &UnknownRequest{Name: name.Subtype, Body: raw, Err: err}, nil
	}
	var all []field
	for f := range fields(raw) {
		all = append(all, f)
	}
	r.base().keep(all, k.known())
	return r, nil
}

func requestKindOf(subtype string) *RequestKind { return bySubtype()[subtype] }

// ControlResponse answers a control request.
type ControlResponse struct {
	Base
	Response Response `json:"response"`
}

// Tag is control_response.
func (*ControlResponse) Tag() Tag { return Tag{Type: "control_response"} }

// ErrorUnsupported is the ErrorCode for a request that is not known.
const ErrorUnsupported = "unsupported_request"

// A Response is an answer: a success with an answer of the request's type, or an error.
type Response struct {
	Subtype   string          `json:"subtype" wire:"enum=success|error"`
	RequestID string          `json:"request_id" wire:"nonempty"`
	Response  json.RawMessage `json:"response,omitempty"`
	Error     string          `json:"error,omitempty"`
	// ErrorCode lets programs tell errors apart.
	ErrorCode string `json:"error_code,omitempty"`

	// PendingPermissionRequests and PendingUserDialogRequests are, in the answer to
	// initialize, the requests that wait for an answer of the host.
	PendingPermissionRequests []json.RawMessage `json:"pending_permission_requests,omitempty"`
	PendingUserDialogRequests []json.RawMessage `json:"pending_user_dialog_requests,omitempty"`
}

// decode stores the answer to r in reply.
func (got *Response) decode(r Request, reply any) error {
	if got.Subtype != "success" {
		return fmt.Errorf("%s: %w", r.Subtype(), &ControlError{Code: got.ErrorCode, Message: got.Error})
	}
	if reply == nil || len(got.Response) == 0 {
		return nil
	}
	if err := json.Unmarshal(got.Response, reply); err != nil {
		return fmt.Errorf("%s: decode answer: %w", r.Subtype(), err)
	}
	return nil
}

// ControlCancelRequest withdraws a request. It has no answer, and the request no longer
// needs one.
type ControlCancelRequest struct {
	Base
	RequestID string `json:"request_id" wire:"nonempty"`
}

// Tag is control_cancel_request.
func (*ControlCancelRequest) Tag() Tag { return Tag{Type: "control_cancel_request"} }

// A ControlError is an error answer. As the error of a handler, it chooses the code of the
// answer.
type ControlError struct {
	// Code is "" for errors without one.
	Code    string
	Message string
}

func (e *ControlError) Error() string { return e.Message }
