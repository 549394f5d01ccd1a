package oauth

import (
	"context"
)

// A UserAgent takes a user to a page of an authorization server. [Loopback] is
// one that works with any browser on this machine.
type UserAgent interface {
	// RedirectURL is where the page sends the browser back to.
	RedirectURL() string
	// Visit takes the user to page, and returns the address that the browser was
	// sent back to.
	Visit(ctx context.Context, page string) (back string, err error)
	// Close ends waiting for the browser.
	Close() error
}
