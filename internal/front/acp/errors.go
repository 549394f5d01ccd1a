package acp

import (
	"context"
	"errors"
	"fmt"

	"github.com/haftdev/haft/internal/models/provider"
	"github.com/haftdev/haft/internal/text/visible"
	sessions "github.com/haftdev/haft/session"
)

// Codes of errors, those of JSON-RPC and of the protocol.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeCancelled      = -32800
	codeAuthRequired   = -32000
	codeNotFound       = -32002
)

// An rpcError is one that goes over the wire.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

func errorf(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// errorOf is an error as the client is told it.
func errorOf(err error) *rpcError {
	var e *rpcError
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, provider.ErrNotConfigured):
		return errorf(codeAuthRequired, "%s", visible.Indented(err.Error()))
	case errors.Is(err, sessions.ErrNotFound):
		return errorf(codeNotFound, "%s", visible.Indented(err.Error()))
	case errors.Is(err, context.Canceled):
		return errorf(codeCancelled, "The request was cancelled.")
	}
	return errorf(codeInternal, "%s", visible.Indented(err.Error()))
}
