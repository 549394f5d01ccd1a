// Package provider chooses the client for a model by its name and the environment, and adds
// retries.
//
//	m, info, err := provider.Open(&provider.Options{Model: "sonnet"})
//
// It reads the environment and nothing else: no file, no network. The result is safe for
// concurrent use, and nothing needs to be closed.
package provider

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/models/provider/retry"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
)

// Options select a model.
type Options struct {
	// Model is the name of a model (claude-opus-5-5), an alias (sonnet), or either after the
	// name of a provider (ollama/qwen3, openai/gpt-5). "" means the model in ANTHROPIC_MODEL
	// or OPENAI_MODEL, or else the default.
	Model string
	// Fallbacks are models of the same provider to use when this one is overloaded, named in
	// the same way.
	Fallbacks []string
	// MaxRetries is how often a request is sent again; 0 means the value of
	// CLAUDE_CODE_MAX_RETRIES, or else 10; a negative number means never.
	MaxRetries int
	// Getenv reads the environment; nil means [os.Getenv].
	Getenv func(string) string
	// UserAgent names the program to the server; "" means haft.
	UserAgent string
}

// Info describes the chosen model.
type Info struct {
	// Provider is anthropic, bedrock, vertex, foundry, openai, or the name of a local server.
	Provider string
	// Model is the name for [model.Request.Model]. Small is the name of a faster and cheaper
	// model of the same provider, or the same name if there is none.
	Model, Small string
	// Server is the address of the server.
	Server string
	// KeySource is the environment variable that the key comes from; "none" if there is no
	// key.
	KeySource string
	// About is what is known of the model.
	About catalog.Info
}

// ErrNotConfigured means that no model is configured. Errors that wrap it say how to configure
// one.
var ErrNotConfigured = errors.New("no model is configured")

// Open returns the model that the options and the environment name.
func Open(opts *Options) (model.Model, Info, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	c, err := choose(&o)
	if err != nil {
		return nil, Info{}, err
	}
	patience := retry.FromEnv(o.Getenv)
	patience.Max = cmp.Or(o.MaxRetries, patience.Max)
	patience.Start = servers[c.info.Provider].start
	for _, name := range o.Fallbacks {
		patience.Fallbacks = append(patience.Fallbacks, c.resolve(name))
	}
	return retry.New(c.model, patience), c.info, nil
}

// A choice is a client and what to tell about it.
type choice struct {
	model model.Model
	info  Info
}

// resolve is the provider's name of a model.
func (c *choice) resolve(name string) string {
	name = strings.TrimPrefix(strings.TrimSpace(name), c.info.Provider+"/")
	if servers[c.info.Provider].base == "" {
		return catalog.Resolve(name) // Claude, from Anthropic or a cloud
	}
	return name
}

// choose finds the provider: the one that is named, else the one that has the
// model, else the one that is configured.
func choose(o *Options) (*choice, error) {
	name := cmp.Or(o.Model, o.Getenv("ANTHROPIC_MODEL"), o.Getenv("OPENAI_MODEL"))
	prefix, rest, _ := strings.Cut(name, "/")
	if server, ok := servers[prefix]; ok && rest != "" {
		return chat(o, server.named(prefix), rest)
	}
	inPlace, err := chosenPlace(o)
	if err != nil {
		return nil, err
	}
	if prefix == "anthropic" && rest != "" {
		name = rest
	}
	if inPlace != nil {
		return inCloud(o, inPlace, strings.TrimPrefix(name, inPlace.name+"/"))
	}
	if prefix == "anthropic" && rest != "" {
		return messages(o, rest)
	}
	anthropicSet := anySet(o, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL")
	openaiSet := anySet(o, "OPENAI_API_KEY", "OPENAI_BASE_URL")
	switch {
	case isClaude(name) || name == "" && (anthropicSet || !openaiSet):
		return messages(o, name)
	case openaiSet:
		return chat(o, servers["openai"].named("openai"), name)
	case anthropicSet:
		return messages(o, name) // a gateway has more than Claude
	}
	return nil, notConfigured("no known server offers the model %q", name)
}

func anySet(o *Options, names ...string) bool {
	for _, name := range names {
		if o.Getenv(name) != "" {
			return true
		}
	}
	return false
}

func isClaude(name string) bool {
	return name != "" && strings.HasPrefix(catalog.Resolve(name), "claude-")
}

// watchdog is how long a server may be silent, in the middle of an answer and
// before one, by HAFT_MODEL_IDLE_MS and HAFT_MODEL_FIRST_BYTE_MS; 0 leaves it to
// the client.
func (o *Options) watchdog() (idle, firstByte time.Duration) {
	millis := func(name string) time.Duration {
		n, err := strconv.Atoi(o.Getenv(name))
		if err != nil || n < 0 {
			return 0
		}
		return time.Duration(n) * time.Millisecond
	}
	return millis("HAFT_MODEL_IDLE_MS"), millis("HAFT_MODEL_FIRST_BYTE_MS")
}

// messages chooses the Messages API.
func messages(o *Options, name string) (*choice, error) {
	opts := anthropic.FromEnv(o.Getenv)
	opts.UserAgent = o.UserAgent
	opts.Idle, opts.FirstByte = o.watchdog()
	info := Info{
		Provider: "anthropic", Model: Resolve(o.Getenv, name), Small: Resolve(o.Getenv, "haiku"),
		Server: cmp.Or(opts.BaseURL, "https://api.anthropic.com"), KeySource: "none",
	}
	switch {
	case opts.Key != "":
		info.KeySource = "ANTHROPIC_API_KEY"
	case opts.Token != "":
		info.KeySource = "ANTHROPIC_AUTH_TOKEN"
		if o.Getenv("ANTHROPIC_AUTH_TOKEN") == "" {
			info.KeySource = "CLAUDE_CODE_OAUTH_TOKEN"
		}
	case opts.BaseURL == "" && len(opts.Headers) == 0:
		return nil, notConfigured("there is no key for %s", info.Model)
	}
	info.Small = cmp.Or(o.Getenv("ANTHROPIC_SMALL_FAST_MODEL"), info.Small)
	if !isClaude(info.Model) {
		info.Small = info.Model // of a gateway nothing else is known
	}
	info.About = catalog.Lookup(info.Model)
	return &choice{anthropic.New(opts), info}, nil
}

// notConfigured says what is missing, and every way to fix it.
func notConfigured(format string, args ...any) error {
	return fmt.Errorf(`%w: %s. Do one of these:
  - set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) to use Claude
  - run haft without -p, or type /login in a conversation: haft asks which model to use, and tests it
  - use a local model: --model ollama/qwen3, or set OPENAI_BASE_URL and --model for any other server
  - run haft demo, which needs neither a key nor a network`, ErrNotConfigured, fmt.Sprintf(format, args...))
}
