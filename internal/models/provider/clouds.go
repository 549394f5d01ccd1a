package provider

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/models/provider/cloud"
	"github.com/haftdev/haft/internal/models/sse"
	"github.com/haftdev/haft/model/anthropic"
)

// A place is a cloud that has Claude, chosen by a variable.
type place struct {
	name, variable string
	// open returns the way there, its address and where its credentials come from; nil
	// means that haft cannot ask it.
	open func(o *Options, base http.RoundTripper) (route cloud.Route, server, key string, err error)
}

// places are all that the official command line knows: one that haft cannot ask must not be
// taken for a wish to ask somewhere else.
var places = []place{
	{"bedrock", "CLAUDE_CODE_USE_BEDROCK", bedrock},
	{"vertex", "CLAUDE_CODE_USE_VERTEX", vertex},
	{"foundry", "CLAUDE_CODE_USE_FOUNDRY", foundry},
	{"mantle", "CLAUDE_CODE_USE_MANTLE", nil},
	{"Claude Platform on AWS", "CLAUDE_CODE_USE_ANTHROPIC_AWS", nil},
}

// chosenPlace is the cloud that the environment chooses; nil means none.
func chosenPlace(o *Options) (*place, error) {
	var found *place
	for _, p := range places {
		if !on(o.Getenv(p.variable)) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("could not choose a provider: %s and %s are both set. Unset one of them", found.variable, p.variable)
		}
		found = &p
	}
	if found != nil && found.open == nil {
		return nil, fmt.Errorf("could not use %s: haft does not support the provider that it selects. Unset it to use another provider", found.variable)
	}
	return found, nil
}

// on reports whether a variable says yes.
func on(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// inCloud chooses the Messages API of a cloud.
func inCloud(o *Options, p *place, name string) (*choice, error) {
	client := *sse.Client() // a copy of the shared client, to wrap its transport
	route, server, key, err := p.open(o, client.Transport)
	if err != nil {
		return nil, err
	}
	client.Transport = &cloud.Transport{Route: route, Base: client.Transport}
	opts := &anthropic.Options{BaseURL: server, HTTP: &client, UserAgent: o.UserAgent, Headers: anthropic.FromEnv(o.Getenv).Headers}
	opts.Idle, opts.FirstByte = o.watchdog()
	info := Info{Provider: p.name, Model: Resolve(o.Getenv, name), Small: cmp.Or(o.Getenv("ANTHROPIC_SMALL_FAST_MODEL"), Resolve(o.Getenv, "haiku")), Server: server, KeySource: key}
	info.About = catalog.Lookup(info.Model)
	return &choice{anthropic.New(opts), info}, nil
}

// Resolve is the name of a model, by the variables that give short names their meaning; ""
// means the default one.
func Resolve(getenv func(string) string, name string) string {
	short, _, _ := strings.Cut(strings.ToLower(cmp.Or(name, catalog.Default)), "[")
	for _, family := range []string{"opus", "sonnet", "haiku"} {
		if short == family {
			return cmp.Or(getenv("ANTHROPIC_DEFAULT_"+strings.ToUpper(family)+"_MODEL"), catalog.Resolve(name))
		}
	}
	return catalog.Resolve(name)
}

func bedrock(o *Options, _ http.RoundTripper) (route cloud.Route, server, key string, err error) {
	b := &cloud.BedrockOptions{Region: cmp.Or(o.Getenv("AWS_REGION"), o.Getenv("AWS_DEFAULT_REGION")), Base: o.Getenv("ANTHROPIC_BEDROCK_BASE_URL"), Token: o.Getenv("AWS_BEARER_TOKEN_BEDROCK")}
	if b.Region == "" {
		return route, "", "", fmt.Errorf("%w: CLAUDE_CODE_USE_BEDROCK is set but AWS_REGION is not. Set it, for example to us-east-1", ErrNotConfigured)
	}
	if strings.ContainsAny(b.Region, "/.:@ ") {
		return route, "", "", fmt.Errorf("%w: %q is not an AWS region. Set AWS_REGION to one such as us-east-1", ErrNotConfigured, b.Region)
	}
	key = "none"
	switch {
	case on(o.Getenv("CLAUDE_CODE_SKIP_BEDROCK_AUTH")):
		b.Token = ""
	case b.Token != "":
		key = "AWS_BEARER_TOKEN_BEDROCK"
	default:
		key = "AWS"
		b.Keys = func() (cloud.Keys, error) {
			home, _ := os.UserHomeDir() // without one there is no file either
			return cloud.AWSKeys(o.Getenv, home)
		}
	}
	return cloud.Bedrock(b), cmp.Or(b.Base, "https://bedrock-runtime."+b.Region+".amazonaws.com"), key, nil
}

func vertex(o *Options, base http.RoundTripper) (route cloud.Route, server, key string, err error) {
	v := &cloud.VertexOptions{Project: cmp.Or(o.Getenv("ANTHROPIC_VERTEX_PROJECT_ID"), o.Getenv("GOOGLE_CLOUD_PROJECT"), o.Getenv("GCLOUD_PROJECT")), Region: cmp.Or(o.Getenv("CLOUD_ML_REGION"), "us-east5"), Base: o.Getenv("ANTHROPIC_VERTEX_BASE_URL")}
	if v.Project == "" {
		return route, "", "", fmt.Errorf("%w: CLAUDE_CODE_USE_VERTEX is set but ANTHROPIC_VERTEX_PROJECT_ID is not. Set it to the ID of your project", ErrNotConfigured)
	}
	if strings.ContainsAny(v.Region, "/.:@ ") {
		return route, "", "", fmt.Errorf("%w: CLOUD_ML_REGION is %q, which is not a region. Set it to one such as us-east5", ErrNotConfigured, v.Region)
	}
	key = "none"
	if !on(o.Getenv("CLAUDE_CODE_SKIP_VERTEX_AUTH")) {
		home, _ := os.UserHomeDir() // without one there is no login of gcloud either
		key, v.Token = "Google Cloud", (&cloud.GoogleToken{Path: cloud.GoogleCredentials(o.Getenv, home), HTTP: base}).Token
	}
	return cloud.Vertex(v), cmp.Or(v.Base, cloud.VertexServer(v.Region)), key, nil
}

func foundry(o *Options, _ http.RoundTripper) (route cloud.Route, server, key string, err error) {
	f := &cloud.FoundryOptions{Base: o.Getenv("ANTHROPIC_FOUNDRY_BASE_URL"), Key: o.Getenv("ANTHROPIC_FOUNDRY_API_KEY"), Token: o.Getenv("ANTHROPIC_FOUNDRY_AUTH_TOKEN")}
	if resource := o.Getenv("ANTHROPIC_FOUNDRY_RESOURCE"); f.Base == "" && resource != "" {
		if strings.ContainsAny(resource, "/.:@ ") {
			return route, "", "", fmt.Errorf("%w: ANTHROPIC_FOUNDRY_RESOURCE is %q, which is not the name of a resource. Set ANTHROPIC_FOUNDRY_BASE_URL to use an address", ErrNotConfigured, resource)
		}
		f.Base = "https://" + resource + ".services.ai.azure.com/anthropic"
	}
	if f.Base == "" {
		return route, "", "", fmt.Errorf("%w: CLAUDE_CODE_USE_FOUNDRY is set, but neither ANTHROPIC_FOUNDRY_RESOURCE nor ANTHROPIC_FOUNDRY_BASE_URL is. Set one of them", ErrNotConfigured)
	}
	switch {
	case on(o.Getenv("CLAUDE_CODE_SKIP_FOUNDRY_AUTH")):
		f.Key, f.Token, key = "", "", "none"
	case f.Key != "":
		key = "ANTHROPIC_FOUNDRY_API_KEY"
	case f.Token != "":
		key = "ANTHROPIC_FOUNDRY_AUTH_TOKEN"
	default:
		return route, "", "", fmt.Errorf("%w: CLAUDE_CODE_USE_FOUNDRY is set, but there are no credentials. Set ANTHROPIC_FOUNDRY_API_KEY, or set ANTHROPIC_FOUNDRY_AUTH_TOKEN to an access token, such as az account get-access-token prints", ErrNotConfigured)
	}
	return cloud.Foundry(f), f.Base, key, nil
}
