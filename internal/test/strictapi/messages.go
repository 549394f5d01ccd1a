package strictapi

import (
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

var (
	useID       = lazyregexp.New(`^[a-zA-Z0-9_-]+$`)
	serverUseID = lazyregexp.New(`^srvtoolu_[a-zA-Z0-9_]+$`)
)

const maxMessages = 100_000

// A turn is a row of messages of one role, which the API joins. Messages of role
// system do not end a turn.
type turn struct {
	role   string
	blocks []placed
	last   *message
}

type placed struct {
	block map[string]any
	path  path
}
