package cloud

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// BedrockOptions say where to ask and as whom.
type BedrockOptions struct {
	Region string
	// Base is the address of the service; "" means that of the region.
	Base string
	// Token is an API key of the service, which is sent in place of a signature.
	Token string
	// Keys returns those to sign with; nil signs nothing.
	Keys func() (Keys, error)
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Bedrock is the route to Amazon Bedrock.
func Bedrock(o *BedrockOptions) Route {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return Route{
		URL: func(r *request) (string, error) {
			r.Header.Set("Accept", "application/vnd.amazon.eventstream")
			delete(r.Members, "stream") // the address says so
			err := r.set("anthropic_version", "bedrock-2023-05-31")
			if betas := r.Header.Get("Anthropic-Beta"); betas != "" {
				r.Header.Del("Anthropic-Beta")
				err = errors.Join(err, r.set("anthropic_beta", strings.Split(betas, ",")))
			}
			base := strings.TrimRight(cmp.Or(o.Base, "https://bedrock-runtime."+o.Region+".amazonaws.com"), "/")
			return base + "/model/" + segment(bedrockModel(r.Model, o.Region)) + "/invoke-with-response-stream", err
		},
		Sign: func(_ context.Context, r *http.Request, body []byte) error {
			r.Header.Del("X-Api-Key") // that of another server
			r.Header.Del("Authorization")
			switch {
			case o.Token != "":
				r.Header.Set("Authorization", "Bearer "+o.Token)
			case o.Keys != nil:
				keys, err := o.Keys()
				if err != nil {
					return err
				}
				(&signer{keys, o.Region, "bedrock"}).sign(r, body, now())
			}
			return nil
		},
		Answer: bedrockAnswer,
	}
}

// dated is a name that ends with the day of a snapshot.
var dated = lazyregexp.New(`^(claude-.*)-(20\d{6})$`)

// bedrockModel is the inference profile for a model that is named as Anthropic does. Any
// other name is one of the cloud.
func bedrockModel(name, region string) string {
	if !strings.HasPrefix(name, "claude-") {
		return name
	}
	area := "us"
	for prefix, a := range map[string]string{"us-gov-": "us-gov", "eu-": "eu", "ap-": "apac"} {
		if strings.HasPrefix(region, prefix) {
			area = a
		}
	}
	if dated.MatchString(name) {
		name += "-v1:0"
	}
	return area + ".anthropic." + name
}

// bedrockAnswer makes of an answer what the Messages API would send.
func bedrockAnswer(resp *http.Response) {
	if resp.StatusCode == http.StatusOK {
		resp.Body = &frames{from: bufio.NewReader(resp.Body), close: resp.Body.Close}
		resp.Header.Set("Content-Type", "text/event-stream")
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
		return
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
	var fault struct {
		Message string `json:"message"`
	}
	if err == nil && json.Unmarshal(text, &fault) == nil && fault.Message != "" {
		text = errorEvent(errorKinds[resp.StatusCode], fault.Message)
		resp.Header.Set("Content-Type", "application/json")
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	resp.Header.Del("Content-Length")
}

// errorKinds are the names that the Messages API has for statuses.
var errorKinds = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
	429: "rate_limit_error", 503: "overloaded_error",
}

func errorEvent(kind, message string) []byte {
	text, err := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": cmp.Or(kind, "api_error"), "message": message}})
	if err != nil {
		return []byte(`{"type":"error","error":{"type":"api_error"}}`)
	}
	return text
}

// AWSKeys are those of the environment, or of a profile in the user's credentials file.
func AWSKeys(getenv func(string) string, home string) (Keys, error) {
	k := Keys{getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN")}
	if k.ID != "" && k.Secret != "" {
		return k, nil
	}
	path := cmp.Or(getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials"))
	profile := cmp.Or(getenv("AWS_PROFILE"), "default")
	text, err := os.ReadFile(path)
	if err == nil {
		k = profileKeys(string(text), profile)
	}
	if k.ID == "" || k.Secret == "" {
		return Keys{}, noLogin("could not sign the request for Amazon Bedrock: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and the profile %s has no keys in %s. Set them, for example with: eval \"$(aws configure export-credentials --format env)\", or set AWS_BEARER_TOKEN_BEDROCK", profile, path)
	}
	return k, nil
}

// profileKeys reads a profile of a credentials file.
func profileKeys(text, profile string) (k Keys) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			inside = strings.TrimSpace(strings.TrimSuffix(name, "]")) == profile
		}
		name, value, ok := strings.Cut(line, "=")
		if !inside || !ok {
			continue
		}
		switch value = strings.TrimSpace(value); strings.TrimSpace(name) {
		case "aws_access_key_id":
			k.ID = value
		case "aws_secret_access_key":
			k.Secret = value
		case "aws_session_token":
			k.Session = value
		}
	}
	return k
}
