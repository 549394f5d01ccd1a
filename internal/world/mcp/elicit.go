package mcp

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

var secret = lazyregexp.New(`(?i)^(.*[_-])?(password|passwd|passphrase|secret|api[_-]?key|access[_-]?token|private[_-]?key|credentials?|pin|cvv|otp)$`)
