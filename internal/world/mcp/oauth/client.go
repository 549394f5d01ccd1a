package oauth

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A Remote is a server as its entry describes it.
type Remote struct {
	// Name is what the user calls it; errors name it.
	Name string
	// URL is the server's endpoint.
	URL string
	// ClientID and ClientSecret were registered beforehand; "" means that they
	// were not. A public client has no secret.
	ClientID, ClientSecret string
	// ClientDocument is the https address of a document that describes the client,
	// for authorization servers that accept one; "" means that there is none.
	ClientDocument string
	// MetadataURL is where the authorization server describes itself; "" means
	// that the server says which one it is.
	MetadataURL string
	// Scopes are those to ask for; nil means what the server asks for.
	Scopes []string
	// CallbackPort is where the browser comes back to; 0 means any that is free.
	CallbackPort int
	// DPoP binds tokens to a key of this client, also where the server does not
	// insist on it.
	DPoP bool
	// Machine logs in without a user; nil means that a user does.
	Machine *Machine
}

// Options configure a [Client]. Nil means all zero values.
type Options struct {
	// HTTP makes the requests to authorization servers; nil means a client that
	// gives up after 30 seconds.
	HTTP *http.Client
	// UserAgent takes a user to a page in the middle of a request that needs it;
	// nil means that nobody can be asked, and such a request fails.
	UserAgent func(port int) (UserAgent, error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Client is haft's account at one server.
type Client struct {
	remote Remote
	url    *url.URL
	store  *Store
	opts   Options

	mu      sync.Mutex
	known   *login        // the login as last seen; nil: look into the store
	unsaved *login        // refreshed and not yet on disk; nil: there is none
	busy    chan struct{} // closed when the refresh under way is over; nil: none is

	asking sync.Mutex // one login at a time
	nonces nonces
}

// New returns the client for a server.
func New(remote Remote, store *Store, opts *Options) (*Client, error) {
	u, err := url.Parse(remote.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("cannot log in to %s: %q is not an http or https URL", remote.Name, remote.URL)
	}
	c := &Client{remote: remote, url: u, store: store}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.HTTP == nil {
		c.opts.HTTP = &http.Client{Timeout: 30 * time.Second}
	}
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	return c, nil
}

// key names the login in the store: another client of the same server is another login.
func (c *Client) key() string { return storeKey(c.remote.URL, c.remote.ClientID) }

// storeKey names the folder of a login.
func storeKey(server, client string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + client))
	return hex.EncodeToString(sum[:12])
}
