package sse

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/model"
)

var errStalled = errors.New("nothing arrived for too long")

// Garbled is an answer that cannot be understood.
func Garbled(what string, err error) error {
	if err != nil {
		what += ": " + err.Error()
	}
	return &model.Error{Kind: model.Garbled, Message: "could not understand the answer: " + what, Err: err}
}

func lost(c *Call, err error) error {
	if known, ok := errors.AsType[*model.Error](err); ok { // of a cloud's credentials
		return known
	}
	e := &model.Error{Kind: model.ConnectionLost, Err: err}
	cause := err
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		cause = wrapped.Err
		e.Message = fmt.Sprintf("cannot reach %s: %v. Check the network, the proxy settings and the server's address", host(c), cause)
	} else {
		e.Message = fmt.Sprintf("the connection to %s was lost: %v", host(c), cause)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](cause); ok {
		e.ShouldRetry = new(bool)
	} else if _, ok := errors.AsType[x509.UnknownAuthorityError](cause); ok {
		e.ShouldRetry = new(bool)
	}
	return e
}

func host(c *Call) string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return "the server"
	}
	return u.Host
}

// maxRefusal is how much of an error's body is read.
const maxRefusal = 64 << 10

// refusal is what an answer with an error status means.
func (s *Stream) refusal(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(s, maxRefusal))
	s.ended = err == nil && len(raw) < maxRefusal
	if err != nil && s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	e := Parse(raw)
	e.Status = resp.StatusCode
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 {
		e.Message = "the server redirects to " + to + ". Use that address if you trust it"
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(resp.StatusCode))
		if page := excerpt(raw); page != "" {
			e.Message += ": " + page
		}
	}
	e.Kind = kind(e)
	e.RetryAfter = retryAfter(resp.Header)
	if word, err := strconv.ParseBool(resp.Header.Get("X-Should-Retry")); err == nil {
		e.ShouldRetry = &word
	}
	return e
}

// retryAfter is what the server asked for; 0 if nothing, or a time that is over. A time
// is compared with the server's own clock, if it says what that is: ours may be wrong.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(seconds * float64(time.Second))
	}
	if date, err := http.ParseTime(value); err == nil {
		now, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		return max(date.Sub(now), 0)
	}
	return 0
}
