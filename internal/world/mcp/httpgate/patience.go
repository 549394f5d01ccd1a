package httpgate

import (
	"context"
	"io"
	"net/http"
	"time"
)

type probeKey struct{}

// Patience bounds how long a server may take over the question for its era. It
// goes right above the network: what a login takes is not the server's silence.
func Patience(base http.RoundTripper, limit time.Duration) http.RoundTripper {
	return patience{base, limit}
}

type patience struct {
	base  http.RoundTripper
	limit time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (p patience) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Context().Value(probeKey{}) == nil {
		return p.base.RoundTrip(req)
	}
	ctx, cancel := context.WithTimeout(req.Context(), p.limit)
	resp, err := p.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = limited{resp.Body, cancel}
	return resp, nil
}

// limited is a body that has to be read in time.
type limited struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (l limited) Close() error {
	defer l.cancel()
	return l.ReadCloser.Close()
}
