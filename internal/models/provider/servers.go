package provider

import (
	"cmp"
	"strings"

	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/model/openai"
)

// A server speaks chat completions.
type server struct {
	name string
	// base is its usual address, baseEnv the variables that say otherwise.
	base    string
	baseEnv []string
	// keyEnv is the variable of the key; mustKey tells that it does not do without.
	keyEnv  string
	mustKey bool
	// start is the command that starts it.
	start string
}

// servers by the name that comes before that of a model.
var servers = map[string]server{
	"openai":     {base: "https://api.openai.com/v1", baseEnv: []string{"OPENAI_BASE_URL"}, keyEnv: "OPENAI_API_KEY", mustKey: true},
	"ollama":     {base: "http://localhost:11434", baseEnv: []string{"OLLAMA_HOST"}, keyEnv: "OLLAMA_API_KEY", start: "ollama serve"},
	"lmstudio":   {base: "http://localhost:1234/v1", baseEnv: []string{"LMSTUDIO_BASE_URL"}, keyEnv: "LMSTUDIO_API_KEY", start: "lms server start"},
	"vllm":       {base: "http://localhost:8000/v1", baseEnv: []string{"VLLM_BASE_URL"}, keyEnv: "VLLM_API_KEY", start: "vllm serve MODEL"},
	"llamacpp":   {base: "http://localhost:8080/v1", baseEnv: []string{"LLAMACPP_BASE_URL"}, keyEnv: "LLAMACPP_API_KEY", start: "llama-server -m MODEL.gguf"},
	"openrouter": {base: "https://openrouter.ai/api/v1", baseEnv: []string{"OPENROUTER_BASE_URL"}, keyEnv: "OPENROUTER_API_KEY", mustKey: true},
}

func (s server) named(name string) server {
	s.name = name
	return s
}

// address is where the server is.
func (s server) address(getenv func(string) string) string {
	base := s.base
	for _, name := range s.baseEnv {
		base = cmp.Or(getenv(name), base)
	}
	if s.name == "ollama" {
		return ollamaURL(base)
	}
	return base
}

// ollamaURL takes what Ollama's own programs take: an address without a scheme
// or a port, and the one that a server listens on.
func ollamaURL(host string) string {
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	rest, path, _ := strings.Cut(rest, "/")
	rest = strings.Replace(rest, "0.0.0.0", "127.0.0.1", 1)
	if strings.HasPrefix(rest, ":") {
		rest = "127.0.0.1" + rest
	}
	if scheme == "http" && strings.LastIndexByte(rest, ':') <= strings.LastIndexByte(rest, ']') {
		rest += ":11434"
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), "v1")
	return scheme + "://" + strings.TrimRight(rest+"/"+path, "/") + "/v1"
}

// chat chooses a server that speaks chat completions.
func chat(o *Options, s server, name string) (*choice, error) {
	if name == "" {
		return nil, notConfigured("%s has no default model; choose one with --model or OPENAI_MODEL", s.name)
	}
	opts := &openai.Options{BaseURL: s.address(o.Getenv), Key: o.Getenv(s.keyEnv), UserAgent: o.UserAgent}
	opts.Idle, opts.FirstByte = o.watchdog()
	info := Info{Provider: s.name, Model: name, Small: name, Server: opts.BaseURL, KeySource: "none", About: catalog.Lookup(name)}
	if opts.Key != "" {
		info.KeySource = s.keyEnv
	} else if s.mustKey && opts.BaseURL == s.base {
		return nil, notConfigured("%s needs a key, but %s is not set", s.name, s.keyEnv)
	}
	return &choice{openai.New(opts), info}, nil
}
