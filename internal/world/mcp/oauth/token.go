package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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

// redeem makes the request, and once more if the server wants a nonce in the proof.
func (c *Client) redeem(ctx context.Context, x exchange) (*tokenAnswer, error) {
	answer, refusal, err := c.redeemOnce(ctx, x)
	if err == nil && refusal != nil && refusal.Code == "use_dpop_nonce" && x.key != nil {
		answer, refusal, err = c.redeemOnce(ctx, x)
	}
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, refusal
	}
	return answer, nil
}

func (c *Client) redeemOnce(ctx context.Context, x exchange) (*tokenAnswer, *tokenError, error) {
	req, err := c.tokenRequest(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	resp, err := c.client().Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("ask the authorization server for a token: %w", err)
	}
	defer resp.Body.Close()
	c.nonces.learn(x.endpoint, resp)
	var answer struct {
		tokenAnswer
		tokenError
	}
	if err := readAnswer(resp, &answer); err != nil {
		return nil, nil, err
	}
	if answer.Access == "" || resp.StatusCode >= 300 {
		answer.status = resp.StatusCode
		return nil, &answer.tokenError, nil
	}
	return &answer.tokenAnswer, nil, nil
}

func (c *Client) tokenRequest(ctx context.Context, x exchange) (*http.Request, error) {
	form := make(url.Values, len(x.form)+3)
	for k, v := range x.form {
		form[k] = v
	}
	basic := false
	switch x.client.Method {
	case proveBasic:
		basic = true
	case proveJWT:
		assertion, err := c.remote.Machine.assertion(x.client.ID, x.issuer, c.opts.Now())
		if err != nil {
			return nil, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
		form.Set("client_id", x.client.ID)
	default:
		if x.client.ID != "" {
			form.Set("client_id", x.client.ID)
		}
		if x.client.Secret != "" && x.client.Method != proveNone {
			form.Set("client_secret", x.client.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if basic {
		req.SetBasicAuth(url.QueryEscape(x.client.ID), url.QueryEscape(x.client.Secret))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if x.key != nil {
		proof, err := x.key.prove(http.MethodPost, x.endpoint, "", c.nonces.of(x.endpoint), c.opts.Now())
		if err != nil {
			return nil, err
		}
		req.Header.Set("DPoP", proof)
	}
	return req, nil
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
