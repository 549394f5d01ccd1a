package catalog

import (
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/haftdev/haft/model"
)

func TestResolve(t *testing.T) {
	for name, want := range map[string]string{
		"haiku": "claude-haiku-5-5", "Sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5", "fable": "claude-fable-5-2", "best": "claude-fable-5-2", "mythos": "claude-mythos-5-2", "opusplan": "claude-sonnet-5-5",
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
	for id, m := range known().models {
		for _, p := range []*Price{m.price, m.longPrice} {
			if p != nil && !(0 < p.CacheRead && p.CacheRead < p.Input && p.Input < p.CacheWrite && p.CacheWrite < p.Output) {
				t.Errorf("%s: cache read < input < cache write < output does not hold: %+v", id, p)
			}
		}
		if m.Effort != "" && m.TakesEffort(m.Effort) != m.Effort {
			t.Errorf("%s does not take its own effort %s", id, m.Effort)
		}
	}
	for alias, id := range known().aliases {
		if !Lookup(id).Known {
			t.Errorf("%s is %s, which is not in the catalog", alias, id)
		}
	}
}

func TestEffortsAreThoseOfTheModel(t *testing.T) {
	for _, c := range []struct{ model, wanted, want string }{
		{"claude-opus-5-5", "xhigh", "xhigh"}, {"claude-opus-5-5", "minimal", "low"}, {"claude-opus-4-6", "xhigh", "high"},
		{"claude-opus-4-5", "max", "high"}, {"claude-sonnet-4-5", "high", ""}, {"claude-opus-9", "max", "max"}, {"qwen3:8b", "high", ""},
	} {
		if got := Lookup(c.model).TakesEffort(c.wanted); got != c.want {
			t.Errorf("%s at %s is %q, want %q", c.model, c.wanted, got, c.want)
		}
	}
}

func TestTheCatalogueHasADate(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, modelsFile(t).Date); err != nil {
		t.Error(err)
	}
}

func TestAModelIsDescribedInShort(t *testing.T) {
	for name, want := range map[string]*regexp.Regexp{
		Default:             regexp.MustCompile(`^1M context, \$[0-9.]+/\$[0-9.]+ per 1M$`),
		"nobody-knows-this": regexp.MustCompile(`^[0-9]+k context$`),
	} {
		if got := Lookup(name).About(); !want.MatchString(got) {
			t.Errorf("%s is %q", name, got)
		}
	}
}
