package oauth

import (
	"net/http"
	"strings"

	"github.com/haftdev/haft/internal/world/mcp"
)

// Logins authorise the requests of a host: they are its [mcp.Auth].
type Logins struct {
	Store   *Store
	Options *Options // of the clients; nil means none
}

// Transport authorises requests to a server, unless its entry brings credentials
// of its own.
func (l *Logins) Transport(s mcp.Server, base http.RoundTripper) (http.RoundTripper, error) {
	if s.HeadersHelper != "" {
		return base, nil
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return base, nil
		}
	}
	c, err := l.Client(s)
	if err != nil {
		return nil, err
	}
	return c.Transport(base), nil
}

// Client returns the account at a server.
func (l *Logins) Client(s mcp.Server) (*Client, error) {
	remote, err := FromEntry(s)
	if err != nil {
		return nil, err
	}
	return New(remote, l.Store, l.Options)
}
