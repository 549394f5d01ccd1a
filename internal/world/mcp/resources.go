package mcp

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Resource is something that a server offers to read.
type Resource struct {
	Server      string `json:"server"`
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        int64  `json:"size,omitempty"`
	// Template is set for a URI template, whose URI has {variables} to fill in.
	Template bool `json:"template,omitempty"`
}

// Contents is the content of a resource: either Text or Blob.
type Contents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     []byte `json:"blob,omitempty"`
}

// ask runs a request over the server's session.
func ask[T any](ctx context.Context, h *Host, server string, f func(context.Context, *session) (T, error)) (T, error) {
	var none T
	p, err := peerOf(h, server)
	if err != nil {
		return none, err
	}
	for again := false; ; again = true {
		s, err := p.acquire(ctx)
		if err != nil {
			return none, err
		}
		bound, done := s.within(ctx)
		result, err := f(bound, s)
		done()
		if err == nil {
			return result, nil
		}
		if again || !errors.Is(err, sdk.ErrSessionMissing) && !errors.Is(err, sdk.ErrConnectionClosed) {
			return none, fmt.Errorf("server %s: %w", server, reason(bound, err))
		}
		s.lose(err)
		p.awaitLoss(ctx, s)
	}
}

// maxResources bounds a list against a server whose pages never end.
const maxResources = 10_000

func listResources(ctx context.Context, s *session) ([]Resource, error) {
	all := []Resource{}
	if caps := s.wire.InitializeResult().Capabilities; caps != nil && caps.Resources == nil {
		return all, nil
	}
	for r, err := range s.wire.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(all) == maxResources {
			break
		}
		all = append(all, Resource{Server: s.peer.name, URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, Size: r.Size})
	}
	for r, err := range s.wire.ResourceTemplates(ctx, nil) {
		if err != nil || len(all) == maxResources {
			break // not every server has templates
		}
		all = append(all, Resource{Server: s.peer.name, URI: r.URITemplate, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, Template: true})
	}
	return all, nil
}
