package sse

import (
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/model"
)

// Parse reads an error in any of the forms that servers use, from the body of a
// refusal or an event of a stream. Its Message is empty if there is none in it.
func Parse(raw []byte) *model.Error {
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    string          `json:"type"`
	}
	e := &model.Error{}
	if json.Unmarshal(raw, &body) != nil {
		return e
	}
	switch {
	case len(body.Error) > 0 && body.Error[0] == '{':
		var inner struct {
			Type    string `json:"type"`
			Message string `json:"message"`
			Code    any    `json:"code"`
		}
		if json.Unmarshal(body.Error, &inner) != nil {
			return e
		}
		e.Type, e.Message = inner.Type, inner.Message
		if code, ok := inner.Code.(string); ok && code != "" {
			e.Type = code // the more telling of OpenAI's two
		}
	case len(body.Error) > 0:
		_ = json.Unmarshal(body.Error, &e.Message) // a string, or nothing to say
	case body.Message != "":
		e.Type, e.Message = body.Type, body.Message
	case len(body.Detail) > 0 && json.Unmarshal(body.Detail, &e.Message) != nil:
		e.Message = string(body.Detail)
	}
	e.Kind = kind(e)
	return e
}

// tooLong are the ways in which servers say that a conversation does not fit.
var tooLong = []string{
	"prompt is too long", "context_length_exceeded", "maximum context length", "exceed context limit", "exceeds the context",
	"context window", "exceed_context_size", "input is too long", "request_too_large",
}

// kind sorts an error by what the server said of it, then by its status.
func kind(e *model.Error) model.ErrorKind {
	said := strings.ToLower(e.Type + " " + e.Message)
	switch e.Type {
	case "overloaded_error":
		return model.Overloaded
	case "rate_limit_error", "rate_limit_exceeded":
		return model.RateLimited
	case "billing_error", "insufficient_quota":
		return model.Billing
	}
	if e.Status == 413 || (e.Status == 0 || e.Status == 400 || e.Status == 500) && containsAny(said, tooLong) {
		return model.PromptTooLong // llama.cpp says so with status 500
	}
	if e.Status == 400 && strings.Contains(said, "credit balance") {
		return model.Billing
	}
	if e.Status == 0 {
		return byType(e.Type)
	}
	return byStatus(e.Status)
}

func byType(name string) model.ErrorKind {
	switch name {
	case "authentication_error", "permission_error", "invalid_api_key":
		return model.Unauthorized
	case "invalid_request_error":
		return model.InvalidRequest
	case "not_found_error", "model_not_found":
		return model.UnknownModel
	}
	return model.ServerFailure
}

func byStatus(status int) model.ErrorKind {
	switch status {
	case 401, 403:
		return model.Unauthorized
	case 402:
		return model.Billing
	case 404:
		return model.UnknownModel
	case 501, 505:
		return model.InvalidRequest // no repetition helps
	case 408, 409:
		return model.ServerFailure // both pass
	case 429:
		return model.RateLimited
	case 529:
		return model.Overloaded
	}
	if status >= 500 {
		return model.ServerFailure
	}
	return model.InvalidRequest
}

func containsAny(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}
