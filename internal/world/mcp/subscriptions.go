package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

//lint:file-ignore SA1019 what the newer era gives up is still spoken

// maxSubscriptions bounds the subscriptions to one server: in the newer era each is a stream.
const maxSubscriptions = 32

// errNoSubscriptions means that a server does not tell when resources change.
var errNoSubscriptions = errors.New("the server does not offer subscriptions")

// claim notes a subscription; false means that there is one already.
func (p *peer) claim(uri string) (fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case slices.Contains(p.subscribed, uri):
		return false, nil
	case len(p.subscribed) >= maxSubscriptions:
		return false, fmt.Errorf("server %s already has %d subscriptions, which is the limit", p.name, maxSubscriptions)
	}
	p.subscribed = append(p.subscribed, uri)
	return true, nil
}

func (p *peer) disclaim(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subscribed = slices.DeleteFunc(slices.Clone(p.subscribed), func(u string) bool { return u == uri })
}

// resubscribe makes the subscriptions of a connection that was lost again.
func (p *peer) resubscribe(uris []string) {
	ctx, cancel := context.WithTimeout(p.ctx, p.startTimeout())
	defer cancel()
	for _, uri := range uris {
		if err := p.host.Subscribe(ctx, p.name, uri); err != nil {
			p.host.opts.Log.Warn("mcp: could not renew a subscription", "server", p.name, "uri", uri, "cause", err)
		}
	}
}
