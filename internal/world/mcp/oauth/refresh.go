package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// refreshTime is how long a refresh may take, whoever waits for it.
const refreshTime = 30 * time.Second

// current returns a login whose token can be used. Stale is a token that the
// server has refused, "" if none was. An error is a *LoginError if only a login
// helps. Without any login the result has no token.
func (c *Client) current(ctx context.Context, stale string) (*login, error) {
	for {
		c.mu.Lock()
		if c.usable(c.known, stale) {
			defer c.mu.Unlock()
			return c.known, nil
		}
		if c.busy == nil {
			break
		}
		busy := c.busy
		c.mu.Unlock()
		select {
		case <-busy: // someone has refreshed, or could not
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	// A refresh is not given up with the request that caused it: the answer that
	// nobody waits for any more may hold the only token that still works.
	busy := make(chan struct{})
	c.busy = busy
	c.mu.Unlock()
	var found *login
	var err error
	go func() {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTime)
		defer cancel()
		found, err = c.renew(own, stale)
		c.mu.Lock()
		c.known, c.busy = found, nil
		c.mu.Unlock()
		close(busy)
	}()
	select {
	case <-busy:
		return found, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// usable reports whether the token of l is fresh and not the refused one.
func (c *Client) usable(l *login, stale string) bool {
	return l != nil && l.Access != stale && l.fresh(c.opts.Now())
}

// renew looks into the store, where another process may have put a new token, and
// refreshes if there is none.
func (c *Client) renew(ctx context.Context, stale string) (*login, error) {
	l, err := c.store.read(c.key())
	if u := c.takenIn(); u != nil {
		l, err = u, nil
	}
	switch {
	case errors.Is(err, errDamaged):
		return nil, &LoginError{Server: c.remote.Name, Reason: "the saved login cannot be used", Err: err}
	case err != nil:
		return nil, err
	case c.usable(l, stale):
		return l, nil
	case l.Refresh == "" && c.remote.Machine != nil:
		return new(login), nil // it can always log in again
	case l.Refresh == "" && l.Access == "":
		return l, nil
	case l.Refresh == "":
		return nil, &LoginError{Server: c.remote.Name, Reason: "the last login has expired", Scopes: l.Wanted}
	}
	return c.renewLocked(ctx, stale)
}

// renewLocked refreshes while no other process does, unless one already has.
func (c *Client) renewLocked(ctx context.Context, stale string) (*login, error) {
	var over *tokenError
	now, err := c.store.change(ctx, c.key(), c.remote.URL, func(l *login) error {
		if u := c.takenIn(); u != nil {
			*l = *u
		}
		if c.usable(l, stale) || l.Refresh == "" {
			return nil // another process was faster
		}
		err := c.refresh(ctx, l)
		if err == nil {
			got := *l
			c.takeIn(&got)
		}
		if errors.As(err, &over) && over.over() {
			l.forget()
			if over.Code == "invalid_client" {
				delete(l.Clients, l.Issuer)
			}
			return nil
		}
		return err
	})
	switch u := c.takenIn(); {
	case err != nil && c.usable(u, stale):
		return u, nil // the disk may be full; the next refresh writes it down
	case err != nil:
		return nil, fmt.Errorf("could not refresh the login of the MCP server %q; the next request tries again: %w", c.remote.Name, err)
	case over != nil:
		return nil, &LoginError{Server: c.remote.Name, Reason: "the last login is no longer valid", Err: over}
	case now.Access == "":
		return nil, &LoginError{Server: c.remote.Name, Reason: "the last login is no longer valid"}
	}
	c.takeIn(nil)
	return now, nil
}

// takeIn keeps a refreshed login until it is written; nil means that it is.
func (c *Client) takeIn(l *login) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsaved = l
}

func (c *Client) takenIn() *login {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsaved
}

// refresh trades the refresh token for a new token. The caller holds the lock.
func (c *Client) refresh(ctx context.Context, l *login) error {
	key, err := readProofKey(l.Key)
	if err != nil {
		return err
	}
	answer, err := c.redeem(ctx, exchange{
		endpoint: l.Token, issuer: l.Issuer, client: c.clientOf(l), key: key,
		form: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}, "resource": {l.Resource}},
	})
	if err != nil {
		return err
	}
	l.keep(answer, nil, c.opts.Now())
	return nil
}

// clientOf is the client that a login was made with. The secret of one that was
// registered beforehand stands in the entry, not in the store.
func (c *Client) clientOf(l *login) registration {
	client := l.Client
	if client.ID == c.remote.ClientID {
		client.Secret = c.remote.ClientSecret
	}
	return client
}
