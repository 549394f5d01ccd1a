package anthropic

import (
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/model"
)

// advise adds to an error what can be done about it.
func (c *Client) advise(err error, name string) error {
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return err
	}
	told := *e
	switch e.Kind {
	case model.Unauthorized:
		told.Message = "the API refused the credentials: " + sentence(e.Message) + c.credentialAdvice()
	case model.Billing:
		told.Message = "the account cannot pay for this: " + sentence(e.Message) + "Add credit or use another key"
	case model.UnknownModel:
		told.Message = fmt.Sprintf("the API at %s does not have the model %q: %sName another model, or check ANTHROPIC_BASE_URL", c.url, name, sentence(e.Message))
	case model.PromptTooLong:
		told.Message = "the conversation is too long for the model: " + sentence(e.Message) + "Compact it, or go on in a new one"
	case model.RateLimited:
		told.Message = "the rate limit is reached: " + e.Message
	case model.Overloaded:
		told.Message = "the model's servers are overloaded: " + e.Message
	case model.ServerFailure:
		told.Message = "the model's server failed: " + e.Message
	case model.InvalidRequest:
		if e.Status != 0 {
			told.Message = "the API refused the request: " + e.Message
		}
	}
	return &told
}

func (c *Client) credentialAdvice() string {
	switch {
	case c.opts.Key != "":
		return "Check ANTHROPIC_API_KEY"
	case c.opts.Token != "":
		return "Check ANTHROPIC_AUTH_TOKEN"
	}
	return "Set ANTHROPIC_API_KEY"
}

// sentence ends what a server said so that something can follow.
func sentence(s string) string {
	if s = strings.TrimRight(s, ". \n"); s == "" {
		return ""
	}
	return s + ". "
}

// newFeatures are parts of a request that not every server knows.
var newFeatures = []string{"thinking", "block_binding", "output_config", "effort", "anthropic-beta", "beta header", "extra inputs", "unexpected field", "unknown field"}

// unknownFeature reports whether a request was refused for one of newFeatures.
func unknownFeature(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Status != 400 && e.Status != 422 {
		return false
	}
	said := strings.ToLower(e.Message)
	if strings.Contains(said, "messages.") {
		return false // it is about what was said before
	}
	for _, feature := range newFeatures {
		if strings.Contains(said, feature) {
			return true
		}
	}
	return false
}
