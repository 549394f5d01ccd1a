package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
)

// elicit puts a server's question to the user.
func (s *session) elicit(ctx context.Context, params *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	if params == nil {
		return nil, invalid("elicitation without parameters")
	}
	message, _ := clean(params.Message)
	e := Elicitation{Server: s.peer.name, Message: message, Mode: params.Mode, URL: params.URL}
	if e.Mode == "" {
		e.Mode = "form"
	}
	if e.Mode == "url" {
		if u, err := url.Parse(e.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, invalid("the URL of an elicitation must be http or https")
		}
	} else {
		var err error
		if e.Schema, err = inOrder(params.RequestedSchema); err != nil {
			return nil, invalid("requestedSchema cannot be read")
		}
		if name := secretField(e.Schema); name != "" {
			return nil, invalid("the field " + name + " asks for a secret; use a URL elicitation for that")
		}
	}
	answer, err := s.peer.host.opts.Elicit(ctx, e)
	if err != nil {
		return nil, err
	}
	r := &sdk.ElicitResult{Action: answer.Action}
	if answer.Action == "accept" && e.Mode == "form" {
		r.Content = map[string]any{}
		if len(answer.Content) > 0 {
			if err := json.Unmarshal(answer.Content, &r.Content); err != nil {
				return nil, errors.New("the answer is not an object")
			}
		}
	}
	return r, nil
}

// inOrder is the schema of a form with its fields in the order in which the server has
// them.
func inOrder(decoded any) (json.RawMessage, error) {
	schema, _ := decoded.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	order, _ := schema[gate.Order].([]any)
	if len(order) == 0 {
		return json.Marshal(decoded)
	}
	var b bytes.Buffer
	for _, name := range order {
		name, _ := name.(string)
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(properties[name])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%s:%s", key, value)
	}
	rest := maps.Clone(schema)
	delete(rest, gate.Order)
	rest["properties"] = json.RawMessage("{" + strings.TrimPrefix(b.String(), ",") + "}")
	return json.Marshal(rest)
}

func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

var secret = lazyregexp.New(`(?i)^(.*[_-])?(password|passwd|passphrase|secret|api[_-]?key|access[_-]?token|private[_-]?key|credentials?|pin|cvv|otp)$`)

// secretField finds a field of a form that asks for what a form must not hold:
// the answer would pass the model's context.
func secretField(schema json.RawMessage) string {
	for name, property := range envelope.Fields(envelope.Field(schema, "properties")) {
		if secret.MatchString(name) || string(envelope.Field(property, "format")) == `"password"` {
			return name
		}
	}
	return ""
}

// answeredURLs has the user visit the pages that an error asks for, and
// reports whether the request may be sent again.
func (s *session) answeredURLs(ctx context.Context, err error) bool {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != sdk.CodeURLElicitationRequired || s.peer.host.opts.Elicit == nil {
		return false
	}
	var data struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(rpc.Data, &data) != nil || len(data.Elicitations) == 0 {
		return false
	}
	for _, e := range data.Elicitations {
		e.Mode = "url"
		if r, err := s.elicit(ctx, e); err != nil || r.Action != "accept" {
			return false
		}
	}
	return true
}
