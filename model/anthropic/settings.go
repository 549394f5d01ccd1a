package anthropic

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/haftdev/haft/internal/catalog"
	"github.com/haftdev/haft/model"
)

// Features of the API that must be asked for by name.
const (
	betaLongContext = "context-1m-2025-08-07"
	betaInterleaved = "interleaved-thinking-2025-05-14"
	betaEffort      = "effort-2025-11-24"
	betaUpdates     = "thinking-display-updates-2026-08-18"
	betaBinding     = "thinking-binding-controls-2026-08-01"
	betaToolSearch  = "advanced-tool-use-2025-11-20"
	betaTaskBudgets = "task-budgets-2026-03-13"
)

// settings are what is asked of a model besides the conversation.
type settings struct {
	model     string
	maxTokens int
	thinking  *thinking
	effort    string
	budget    *taskBudget
	betas     []string
}

type thinking struct {
	Type    string   `json:"type"`
	Budget  int      `json:"budget_tokens,omitempty"`
	Display string   `json:"display,omitempty"`
	Binding *binding `json:"block_binding,omitempty"`
}

// binding says what becomes of thoughts after which the conversation was changed,
// as compaction and new tools do: they are left out, and the request goes on.
type binding struct {
	Mismatch string `json:"prefix_mismatch_behavior"`
}

// settingsOf returns what the model of a request is to be asked, in the form
// that its family takes; plain leaves out what older servers do not know.
func settingsOf(req *model.Request, plain bool) settings {
	info := catalog.Lookup(req.Model)
	s := settings{model: info.ID, maxTokens: cmp.Or(req.MaxTokens, info.MaxOutput), betas: slices.Clone(req.Betas)}
	if info.LongContext {
		s.need(betaLongContext)
	}
	if plain {
		return s
	}
	var want model.ThinkingOptions
	if req.Thinking != nil {
		want = *req.Thinking
	}
	switch info.Thinking {
	case catalog.Adaptive:
		s.thinkAdaptively(want, info)
	case catalog.Budget:
		s.thinkWithin(want)
	}
	if info.Effort != "" && req.Effort != "" {
		s.effort = req.Effort
		s.need(betaEffort)
	}
	if req.TaskBudget > 0 {
		s.budget = &taskBudget{"tokens", req.TaskBudget}
		s.need(betaTaskBudgets)
	}
	if bytes.Contains(req.Tools, []byte(`"defer_loading":`)) {
		s.need(betaToolSearch)
	}
	return s
}

func (s *settings) thinkAdaptively(want model.ThinkingOptions, info catalog.Info) {
	if want.Mode == "disabled" {
		if !info.AlwaysThinks {
			s.thinking = &thinking{Type: "disabled"}
		}
		return
	}
	s.thinking = &thinking{Type: "adaptive", Display: want.Display}
	if want.Display == "updates" {
		s.need(betaUpdates)
	}
	if info.BindsThinking {
		s.thinking.Binding = &binding{"drop_block"}
		s.need(betaBinding)
	}
}

// usualBudget is how many tokens are thought with if nobody says otherwise.
const usualBudget = 31_999

func (s *settings) thinkWithin(want model.ThinkingOptions) {
	const least = 1024 // is what the API takes
	if want.Mode == "disabled" || s.maxTokens <= least {
		return
	}
	budget := cmp.Or(want.Budget, usualBudget)
	s.thinking = &thinking{Type: "enabled", Budget: min(max(budget, least), s.maxTokens-1)}
	s.need(betaInterleaved)
}

func (s *settings) need(beta string) {
	if !slices.Contains(s.betas, beta) {
		s.betas = append(s.betas, beta)
	}
}
