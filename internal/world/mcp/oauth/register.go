package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// A registration is how an authorization server knows this client.
type registration struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret,omitempty"`
	// Method is how the client proves itself at the token endpoint.
	Method string `json:"token_endpoint_auth_method,omitempty"`
	// Redirect is where the client said that browsers come back to; "" if that was
	// settled elsewhere.
	Redirect string `json:"redirect_uri,omitempty"`
}

// Methods of proving to be a client at the token endpoint.
const (
	proveNone  = "none"
	proveBasic = "client_secret_basic"
	provePost  = "client_secret_post"
	proveJWT   = "private_key_jwt"
)

// registered is the client that the user has registered.
func (c *Client) registered(iss *issuer) registration {
	r := registration{ID: c.remote.ClientID, Secret: c.remote.ClientSecret}
	switch {
	case r.Secret == "":
		r.Method = proveNone
	case len(iss.AuthMethods) > 0 && !slices.Contains(iss.AuthMethods, proveBasic) && slices.Contains(iss.AuthMethods, provePost):
		r.Method = provePost
	default:
		r.Method = proveBasic
	}
	return r
}

// register makes this client known to iss (RFC 7591).
func (c *Client) register(ctx context.Context, iss *issuer, redirect string) (registration, error) {
	method := proveNone
	for _, m := range []string{proveNone, proveBasic, provePost} {
		if slices.Contains(iss.AuthMethods, m) {
			method = m
			break
		}
	}
	body, err := json.Marshal(map[string]any{
		"client_name": "haft", "redirect_uris": []string{redirect}, "application_type": "native",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": method,
	})
	if err != nil {
		return registration{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, iss.Register, bytes.NewReader(body))
	if err != nil {
		return registration{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.client().Do(req)
	if err != nil {
		return registration{}, fmt.Errorf("register with the authorization server: %w", err)
	}
	defer resp.Body.Close()
	var answer struct {
		registration
		tokenError
	}
	if err := readAnswer(resp, &answer); err != nil {
		return registration{}, fmt.Errorf("register with the authorization server: %w", err)
	}
	if answer.ID == "" {
		answer.status = resp.StatusCode
		return registration{}, fmt.Errorf("register with the authorization server: %w", &answer.tokenError)
	}
	r := answer.registration
	r.Redirect = redirect
	if r.Method == "" {
		r.Method = method
		if r.Secret != "" && method == proveNone {
			r.Method = proveBasic // the standard's default
		}
	}
	return r, nil
}
