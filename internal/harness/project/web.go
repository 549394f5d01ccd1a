package project

import (
	"context"
	"fmt"
	"net/http"

	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/internal/world/webpage"
	"github.com/haftdev/haft/internal/world/webpage/searxng"
)

// Web fetches pages, as far as the settings let it go beyond the public internet.
func (p *Project) Web() (*webpage.Fetcher, error) {
	opts := &webpage.Options{Proxy: http.ProxyFromEnvironment}
	for _, host := range p.Counts.PrivateHosts() {
		opts.Private = append(opts.Private, host.Text)
	}
	web, err := webpage.New(opts)
	if err != nil {
		return nil, fmt.Errorf("webFetch.allowPrivate in the settings: %w", err)
	}
	return web, nil
}

// SearchWeb asks the search server that the settings name; nil if they name none.
func (p *Project) SearchWeb() (websearch.Backend, error) {
	endpoint, ok := p.Counts.Text("webSearch", "endpoint")
	if !ok {
		return nil, nil
	}
	server, err := searxng.New(endpoint.Text, &searxng.Options{Proxy: http.ProxyFromEnvironment})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", endpoint.Origin, err)
	}
	return func(ctx context.Context, q websearch.Query) ([]websearch.Hit, error) {
		found, err := server.Search(ctx, q.Text)
		var hits []websearch.Hit
		for _, h := range found {
			hits = append(hits, websearch.Hit(h))
		}
		return hits, err
	}, nil
}
