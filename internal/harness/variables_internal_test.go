package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/model"
)

// What the command line does not say, the environment may; what is not a number says nothing.
func TestVariablesAboutRequests(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		have TalkOptions
		want TalkOptions
	}{
		{"none", nil, TalkOptions{}, TalkOptions{}},
		{"thinking", map[string]string{"MAX_THINKING_TOKENS": "5000"}, TalkOptions{}, TalkOptions{Thinking: &model.ThinkingOptions{Mode: "enabled", Budget: 5000}}},
		{"no thinking", map[string]string{"MAX_THINKING_TOKENS": "0"}, TalkOptions{}, TalkOptions{Thinking: &model.ThinkingOptions{Mode: "disabled"}}},
		{"a flag goes before", map[string]string{"MAX_THINKING_TOKENS": "0", "CLAUDE_CODE_EFFORT_LEVEL": "low"}, TalkOptions{Effort: "high", Thinking: &model.ThinkingOptions{Mode: "adaptive"}}, TalkOptions{Effort: "high", Thinking: &model.ThinkingOptions{Mode: "adaptive"}}},
		{"effort", map[string]string{"CLAUDE_CODE_EFFORT_LEVEL": "low"}, TalkOptions{}, TalkOptions{Effort: "low"}},
		{"sizes", map[string]string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "4000", "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "90000"}, TalkOptions{}, TalkOptions{maxTokens: 4000, window: 90000}},
		{"no numbers", map[string]string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "many", "MAX_THINKING_TOKENS": "-1"}, TalkOptions{}, TalkOptions{}},
		{"betas", map[string]string{"ANTHROPIC_BETAS": "a-2025-01-01, b-2025-01-01"}, TalkOptions{Betas: []string{"a-2025-01-01"}}, TalkOptions{Betas: []string{"a-2025-01-01", "b-2025-01-01"}}},
		{"no compaction", map[string]string{"DISABLE_COMPACT": "1"}, TalkOptions{}, TalkOptions{compactAt: -1}},
		{"a no", map[string]string{"DISABLE_AUTO_COMPACT": "false"}, TalkOptions{}, TalkOptions{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.have
			takeVariables(&got, func(name string) string { return c.env[name] })
			show := func(o TalkOptions) []any {
				return []any{o.Thinking, o.Effort, o.Betas, o.maxTokens, o.window, o.compactAt}
			}
			if diff := cmp.Diff(show(c.want), show(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFeatureMakesTheWindowLarger(t *testing.T) {
	const beta = "context-1m-2025-08-07"
	for _, c := range []struct {
		name  string
		betas []string
		want  int64
	}{
		{"claude-sonnet-4-5", nil, 200_000}, {"claude-sonnet-4-5[1m]", nil, 1_000_000},
		{"claude-sonnet-4-5", []string{"other-2025-01-01", beta}, 1_000_000}, {"claude-sonnet-4-5[1m]", []string{beta}, 1_000_000},
	} {
		if got := windowOf(c.name, c.betas); got != c.want {
			t.Errorf("%s with %v: %d, want %d", c.name, c.betas, got, c.want)
		}
	}
}
