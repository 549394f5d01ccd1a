package provider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/test/golden"
)

type env map[string]string

func (e env) get(name string) string { return e[name] }

func TestOpen(t *testing.T) {
	key := env{"ANTHROPIC_API_KEY": "k"}
	const haiku = "claude-haiku-5-5"
	for _, c := range []struct {
		name  string
		model string
		env   env
		want  Info
	}{
		{"a key is enough", "", key, Info{"anthropic", "claude-opus-5-5", haiku, "https://api.anthropic.com", "ANTHROPIC_API_KEY", catalog.Info{}}},
		{"an alias", "haiku", key, Info{"anthropic", haiku, haiku, "https://api.anthropic.com", "ANTHROPIC_API_KEY", catalog.Info{}}},
		{"the provider is named", "anthropic/sonnet", key, Info{"anthropic", "claude-sonnet-5-5", haiku, "https://api.anthropic.com", "ANTHROPIC_API_KEY", catalog.Info{}}},
		{"a token", "opus", env{"ANTHROPIC_AUTH_TOKEN": "t"}, Info{"anthropic", "claude-opus-5-5", haiku, "https://api.anthropic.com", "ANTHROPIC_AUTH_TOKEN", catalog.Info{}}},
		{"a gateway needs no key", "", env{"ANTHROPIC_BASE_URL": "http://gw", "ANTHROPIC_MODEL": "glm-5"}, Info{"anthropic", "glm-5", "glm-5", "http://gw", "none", catalog.Info{}}},
		{"another small model", "", env{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_SMALL_FAST_MODEL": "claude-haiku-4-5"}, Info{"anthropic", "claude-opus-5-5", "claude-haiku-4-5", "https://api.anthropic.com", "ANTHROPIC_API_KEY", catalog.Info{}}},
		{"a local model", "ollama/qwen3:8b", nil, Info{"ollama", "qwen3:8b", "qwen3:8b", "http://localhost:11434/v1", "none", catalog.Info{}}},
		{"somewhere else", "ollama/hf.co/a/b", env{"OLLAMA_HOST": "0.0.0.0:9"}, Info{"ollama", "hf.co/a/b", "hf.co/a/b", "http://127.0.0.1:9/v1", "none", catalog.Info{}}},
		{"the prefix wins over a key", "vllm/m", key, Info{"vllm", "m", "m", "http://localhost:8000/v1", "none", catalog.Info{}}},
		{"OpenAI", "openai/gpt-5", env{"OPENAI_API_KEY": "k"}, Info{"openai", "gpt-5", "gpt-5", "https://api.openai.com/v1", "OPENAI_API_KEY", catalog.Info{}}},
		{"any server that speaks so", "qwen/qwen3-coder", env{"OPENAI_BASE_URL": "http://h/v1"}, Info{"openai", "qwen/qwen3-coder", "qwen/qwen3-coder", "http://h/v1", "none", catalog.Info{}}},
		{"its model by the environment", "", env{"OPENAI_BASE_URL": "http://h/v1", "OPENAI_MODEL": "m"}, Info{"openai", "m", "m", "http://h/v1", "none", catalog.Info{}}},
		{"both are set, and the name decides", "gpt-5", env{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "o"}, Info{"openai", "gpt-5", "gpt-5", "https://api.openai.com/v1", "OPENAI_API_KEY", catalog.Info{}}},
		{"both are set, and it is Claude", "sonnet", env{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "o"}, Info{"anthropic", "claude-sonnet-5-5", haiku, "https://api.anthropic.com", "ANTHROPIC_API_KEY", catalog.Info{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, got, err := Open(&Options{Model: c.model, Getenv: c.env.get})
			if err != nil || m == nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Info{}, "About")); diff != "" {
				t.Errorf("info (-want +got):\n%s", diff)
			}
			if got.About.ID != got.Model {
				t.Errorf("it tells about %q", got.About.ID)
			}
		})
	}
}

func TestNothingIsConfigured(t *testing.T) {
	for _, c := range []struct {
		name  string
		model string
		env   env
		says  string
	}{
		{"nothing at all", "", nil, "there is no key for claude-opus-5-5"},
		{"Claude without a key", "sonnet", env{"OPENAI_API_KEY": "k"}, "there is no key for claude-sonnet-5-5"},
		{"a model of nobody", "mystery-9", nil, `no known server offers the model "mystery-9"`},
		{"OpenAI without a key", "openai/gpt-5", nil, "OPENAI_API_KEY is not set"},
		{"a server without a model", "", env{"OPENAI_BASE_URL": "http://h/v1"}, "choose one with --model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := Open(&Options{Model: c.model, Getenv: c.env.get})
			if !errors.Is(err, ErrNotConfigured) {
				t.Fatalf("got %v", err)
			}
			for _, want := range []string{c.says, "ANTHROPIC_API_KEY", "ollama/", "haft demo"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestOllamaAddresses(t *testing.T) {
	for host, want := range map[string]string{
		"127.0.0.1":                "http://127.0.0.1:11434/v1",
		":9":                       "http://127.0.0.1:9/v1",
		"box:8080":                 "http://box:8080/v1",
		"http://box/":              "http://box:11434/v1",
		"https://ollama.example":   "https://ollama.example/v1",
		"http://box:1/v1/":         "http://box:1/v1",
		"https://h.example/ollama": "https://h.example/ollama/v1",
		"[::1]":                    "http://[::1]:11434/v1",
	} {
		if got := ollamaURL(host); got != want {
			t.Errorf("%q is %q, want %q", host, got, want)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		if _, _, err := Open(&Options{Getenv: env{"ANTHROPIC_API_KEY": "k"}.get}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTheGuidesListTheServers writes the table of the guides about models.
func TestTheGuidesListTheServers(t *testing.T) {
	for path, words := range map[string][2]string{
		"../../../docs/models.md":    {"| model | address | other address | key |", ", if it needs one"},
		"../../../docs/zh/models.md": {"| 模型 | 地址 | 其他地址 | 密钥 |", "（如果需要）"},
	} {
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n|---|---|---|---|\n", words[0])
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			s := servers[name]
			key := "`" + s.keyEnv + "`"
			if !s.mustKey {
				key += words[1]
			}
			fmt.Fprintf(&b, "| `%s/…` | %s | `%s` | %s |\n", name, s.base, strings.Join(s.baseEnv, "`, `"), key)
		}
		golden.Part(t, path, "servers", b.String())
	}
}
