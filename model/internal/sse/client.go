package sse

import (
	"net"
	"net/http"
	"time"
)

// NewClient returns an HTTP client fit for long streams: it keeps connections
// for the next turn, goes through the proxy that the environment names, and sets
// no limit to how long an answer takes, which is the watchdog's business.
func NewClient() *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{CheckRedirect: stay, Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true, // what compresses a stream holds it back
		MaxIdleConns:        0,    // as many as there are conversations
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
	}}
}

// stay keeps the client from taking keys and conversations elsewhere.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
