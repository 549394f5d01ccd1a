package catalog

import (
	"math"
	"testing"

	"github.com/haftdev/haft/model"
)

func TestResolve(t *testing.T) {
	for name, want := range map[string]string{
		"haiku": "claude-haiku-5-5", "Sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5", "fable": "claude-fable-5-1",
		"opus[1m]": "claude-opus-5-5", "": Default, "default": Default,
		"claude-sonnet-4-5": "claude-sonnet-4-5", "claude-sonnet-4-5[1m]": "claude-sonnet-4-5[1m]", "ollama/qwen3": "ollama/qwen3",
	} {
		if got := Resolve(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestLookupKnowsAModelByItsManyNames(t *testing.T) {
	for _, name := range []string{
		"claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
		"claude-sonnet-4-5@20250929", "claude-sonnet-4-5[1m]", "claude-sonnet-4-5-latest",
	} {
		if got := Lookup(name); !got.Known || got.Name != "Claude Sonnet 4.5" || got.Thinking != Budget {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := Lookup("claude-sonnet-4-5[1m]"); got.ID != "claude-sonnet-4-5" || got.Context != million || !got.LongContext {
		t.Errorf("the long context: %+v", got)
	}
	if got := Lookup("claude-opus-5-5[1m]"); got.LongContext {
		t.Errorf("opus has the long context anyway: %+v", got)
	}
}

func TestUnknownModelsAreGuessedCautiously(t *testing.T) {
	if got := Lookup("claude-opus-9"); got.Known || got.Thinking != Adaptive || got.Effort != "high" || got.Name != "claude-opus-9" {
		t.Errorf("a new Claude: %+v", got)
	}
	if got := Lookup("qwen3:8b"); got.Known || got.Thinking != NoThinking || got.Effort != "" || got.ID != "qwen3:8b" {
		t.Errorf("a foreign model: %+v", got)
	}
}

func TestCost(t *testing.T) {
	for _, c := range []struct {
		name  string
		model string
		usage model.Usage
		usd   float64
		known bool
	}{
		{"every kind of token has its price", "claude-opus-5-5", model.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 1e6}, 29.2, true},
		{"an alias is not a model", "haiku", model.Usage{}, 0, false},
		{"searches cost a cent", "claude-sonnet-5-5", model.Usage{Searches: 3}, 0.03, true},
		{"a short question is cheap", "claude-haiku-5-5", model.Usage{Input: 1_000, CacheRead: 99_000, Output: 1_000}, 0.0001 + 0.00099 + 0.0005, true},
		{"a long question has another price", "claude-haiku-5-5", model.Usage{Input: 1_001, CacheRead: 99_000, Output: 1_000}, 0.0005005 + 0.00495 + 0.0025, true},
		{"an unknown model has none", "scripted:claude-opus-5-5", model.Usage{Input: 1e6}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			usd, known := Lookup(c.model).Cost(c.usage)
			if known != c.known || math.Abs(usd-c.usd) > 1e-9 {
				t.Errorf("got %v, %v; want %v, %v", usd, known, c.usd, c.known)
			}
		})
	}
}

func TestEveryKnownModelIsPricedSensibly(t *testing.T) {
	for id, m := range models {
		p := m.price
		if !(0 < p.cacheRead && p.cacheRead < p.input && p.input < p.cacheWrite && p.cacheWrite < p.output) {
			t.Errorf("%s: cache read < input < cache write < output does not hold: %+v", id, p)
		}
	}
	for alias, id := range aliases {
		if !Lookup(id).Known {
			t.Errorf("%s is %s, which is not in the catalog", alias, id)
		}
	}
}
