package attach

import (
	"net/url"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/wire"
)

// A Following says which session to follow, from where, and what to call with what happens in it.
type Following struct {
	ID string
	// From is a position in its journal, "" being the beginning.
	From string
	// UpToNow ends it when everything that there is was told.
	UpToNow bool
	// Each gets the messages, and reports whether more should come.
	Each func(wire.Message) bool
	// Questions gets all open questions whenever they change, between two calls of Each: after
	// what was said before they were asked. Nil means nobody wants to know.
	Questions func([]serve.Question)
}

func sessionPath(id string) string { return "/v1/sessions/" + url.PathEscape(id) }
