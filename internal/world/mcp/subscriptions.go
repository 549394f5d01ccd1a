package mcp

import (
	"errors"
)

//lint:file-ignore SA1019 what the newer era gives up is still spoken

// maxSubscriptions bounds the subscriptions to one server: in the newer era each is a stream.
const maxSubscriptions = 32

// errNoSubscriptions means that a server does not tell when resources change.
var errNoSubscriptions = errors.New("the server does not offer subscriptions")
