package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strconv"
)

// A tokenAnswer is what a token endpoint gives.
type tokenAnswer struct {
	Access    string  `json:"access_token"`
	Refresh   string  `json:"refresh_token"`
	Type      string  `json:"token_type"`
	ExpiresIn seconds `json:"expires_in"`
	Scope     string  `json:"scope"`
}

// seconds is a number, which some servers send as a string.
type seconds int64

func (s *seconds) UnmarshalJSON(raw []byte) error {
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return err
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err == nil && f > 0 && f < 1e9 {
		*s = seconds(f)
	}
	return nil // a lifetime that makes no sense is not known
}

// An exchange is one request to a token endpoint.
type exchange struct {
	endpoint string
	issuer   string
	client   registration
	form     url.Values
	key      *proofKey // binds the token; nil does not
}

// parseKey reads a private key in PEM.
func parseKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("read the client's key: it is not in PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("read the client's key: %w", err)
	}
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		if key.Curve == elliptic.P256() {
			return key, nil
		}
	case *rsa.PrivateKey:
		return key, nil
	}
	return nil, errors.New("read the client's key: it must be an RSA key or one on the curve P-256")
}
