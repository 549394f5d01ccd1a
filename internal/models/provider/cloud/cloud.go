// Package cloud lets a client of the Messages API ask the same models in a cloud: it
// addresses, signs and translates each request on its way, and the answer on its way back.
//
//	client := &http.Client{Transport: &cloud.Transport{Route: cloud.Bedrock(&cloud.BedrockOptions{Region: "eu-west-1"})}}
//
// Trust: credentials go to the host that the route names and nowhere else. What comes back
// is read with bounds, and a frame whose checksum is wrong ends the answer.
//
// Transports are safe for concurrent use; there is nothing to close.
package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/haftdev/haft/model"
)

// A request is one of the Messages API on its way to a cloud.
type request struct {
	// Model is the name in the request, which is no longer among the members.
	Model string
	// Members are the others of the body.
	Members map[string]json.RawMessage
	Header  http.Header
}

// A Route says where a request goes, and changes what is different there.
type Route struct {
	// URL returns the address, after it has changed the request.
	URL func(*request) (string, error)
	// Sign adds credentials to what is sent; nil adds none.
	Sign func(ctx context.Context, r *http.Request, body []byte) error
	// Answer translates what comes back; nil leaves it.
	Answer func(*http.Response)
}

// A Transport takes requests along a route.
type Transport struct {
	Route Route
	// Base makes the connections; nil means [http.DefaultTransport].
	Base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(from *http.Request) (*http.Response, error) {
	defer from.Body.Close()
	r := &request{Header: from.Header.Clone()}
	if err := r.read(from.Body); err != nil {
		return nil, fmt.Errorf("could not send the request: %w", err)
	}
	address, err := t.Route.URL(r)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.Members); err != nil {
		return nil, err
	}
	to, err := http.NewRequestWithContext(from.Context(), http.MethodPost, address, bytes.NewReader(body.Bytes()))
	if err != nil {
		return nil, err
	}
	to.Header = r.Header
	if t.Route.Sign != nil {
		if err := t.Route.Sign(from.Context(), to, body.Bytes()); err != nil {
			return nil, err
		}
	}
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(to)
	if err == nil && t.Route.Answer != nil {
		t.Route.Answer(resp)
	}
	return resp, err
}

// noLogin is the error of credentials that are missing or refused: asking again does not help,
// and neither does another look at the network.
func noLogin(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &model.Error{Kind: model.InvalidRequest, Message: err.Error(), Err: err}
}

func (r *request) read(body io.Reader) error {
	if err := json.NewDecoder(body).Decode(&r.Members); err != nil {
		return err
	}
	if err := json.Unmarshal(r.Members["model"], &r.Model); err != nil || r.Model == "" {
		return errors.New("it does not name a model")
	}
	delete(r.Members, "model")
	return nil
}

// set adds a member to the body.
func (r *request) set(name string, value any) error {
	raw, err := json.Marshal(value)
	r.Members[name] = raw
	return err
}

// FoundryOptions say where models are deployed and as whom to ask.
type FoundryOptions struct {
	// Base is the address of the resource, with the path of the API.
	Base string
	// Key is an API key, Token one of the directory service; both empty send none.
	Key, Token string
}

// Foundry is the route to Microsoft Foundry, which speaks the Messages API itself.
func Foundry(o *FoundryOptions) Route {
	return Route{
		URL: func(r *request) (string, error) {
			return strings.TrimRight(o.Base, "/") + "/v1/messages", r.set("model", r.Model)
		},
		Sign: func(_ context.Context, r *http.Request, _ []byte) error {
			r.Header.Del("X-Api-Key") // that of another server
			r.Header.Del("Authorization")
			switch {
			case o.Key != "":
				r.Header.Set("X-Api-Key", o.Key)
			case o.Token != "":
				r.Header.Set("Authorization", "Bearer "+o.Token)
			}
			return nil
		},
	}
}

// segment is a part of a path with everything but unreserved characters escaped, as clouds
// write it.
func segment(name string) string {
	return strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}
