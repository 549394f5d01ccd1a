package sse

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"

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
