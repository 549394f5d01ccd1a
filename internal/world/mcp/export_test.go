package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Unsubscribe ends a subscription.
func (h *Host) Unsubscribe(ctx context.Context, server, uri string) error {
	p, err := peerOf(h, server)
	if err != nil {
		return err
	}
	p.disclaim(uri)
	_, err = ask(ctx, h, server, func(ctx context.Context, s *session) (struct{}, error) {
		return struct{}{}, s.wire.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: uri})
	})
	return err
}
