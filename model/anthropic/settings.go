package anthropic

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/models/catalog"
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
	adjusted  []string // what is not as it was asked for, in sentences
}

type thinking struct {
	Type    string   `json:"type"`
	Budget  int      `json:"budget_tokens,omitempty"`
	Display string   `json:"display,omitempty"`
	Binding *binding `json:"block_binding,omitempty"`
}

// binding says what to do with thoughts after which the conversation was changed,
// as compaction and new tools do: they are left out, and the request continues.
type binding struct {
	Mismatch string `json:"prefix_mismatch_behavior"`
}

// settingsOf returns what the model of a request is to be asked, in the form
// that its family takes, without what its server does not know.
func settingsOf(req *model.Request, without features) *settings {
	info := catalog.Lookup(req.Model)
	s := &settings{model: info.ID, maxTokens: cmp.Or(req.MaxTokens, info.MaxOutput), betas: slices.Clone(req.Betas)}
	if info.Known && s.maxTokens > info.MaxOutput {
		s.adjust("%s supports at most %d output tokens, not %d.", info.Name, info.MaxOutput, s.maxTokens)
		s.maxTokens = info.MaxOutput
	}
	if info.LongContext {
		s.need(betaLongContext)
	}
	if req.Effort != "" && !without[effort] {
		s.tryFor(req.Effort, info)
	}
	if !without[thoughts] {
		s.think(req, info, without)
	}
	if req.TaskBudget > 0 && !without[budgets] {
		total := max(req.TaskBudget, leastTaskBudget)
		if total > req.TaskBudget {
			s.adjust("The task budget is set to %d tokens, the minimum, instead of %d.", total, req.TaskBudget)
		}
		s.budget = &taskBudget{"tokens", total}
		s.need(betaTaskBudgets)
	}
	if bytes.Contains(req.Tools, []byte(`"defer_loading":`)) {
		s.need(betaToolSearch)
	}
	s.betas = slices.DeleteFunc(s.betas, func(name string) bool { return without[allBetas] || without[feature(name)] })
	return s
}

// leastTaskBudget is what the API takes, in tokens.
const leastTaskBudget = 20_000

// tryFor sets the effort, as far as the model takes it.
func (s *settings) tryFor(level string, info catalog.Info) {
	if info.Effort == "" {
		if info.Known {
			s.adjust("%s does not support effort levels: %s is ignored.", info.Name, level)
		}
		return
	}
	taken := info.TakesEffort(level)
	if taken != level {
		s.adjust("%s supports the effort levels %s: %s is used instead of %s.", info.Name, strings.Join(info.Efforts, ", "), taken, level)
	}
	s.effort = taken
	s.need(betaEffort)
}

func (s *settings) think(req *model.Request, info catalog.Info, without features) {
	var want model.ThinkingOptions
	if req.Thinking != nil {
		want = *req.Thinking
	}
	switch info.Thinking {
	case catalog.Adaptive:
		s.thinkAdaptively(want, info, without)
	case catalog.Budget:
		s.thinkWithin(want)
	}
}

func (s *settings) thinkAdaptively(want model.ThinkingOptions, info catalog.Info, without features) {
	off := want.Mode == "disabled"
	switch high := s.effort == "xhigh" || s.effort == "max"; {
	case off && info.Off == catalog.OffNever:
		if info.Known {
			s.adjust("%s always thinks: thinking cannot be turned off.", info.Name)
		}
		return
	case off && info.Off == catalog.OffBelowXhigh && high:
		s.adjust("%s always thinks at effort %s: thinking cannot be turned off at that level.", info.Name, s.effort)
	case off:
		s.thinking = &thinking{Type: "disabled"}
		return
	}
	s.thinking = &thinking{Type: "adaptive", Display: want.Display}
	if want.Display == "updates" {
		s.need(betaUpdates)
	}
	if info.BindsThinking && !without[bindings] {
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
	given := min(max(budget, least), s.maxTokens-1)
	if want.Budget > 0 && given != want.Budget {
		s.adjust("The thinking budget is set to %d tokens instead of %d: it must be at least %d and less than the output limit of %d.", given, want.Budget, least, s.maxTokens)
	}
	s.thinking = &thinking{Type: "enabled", Budget: given}
	s.need(betaInterleaved)
}

// adjust notes that the request has something else than was asked for.
func (s *settings) adjust(format string, args ...any) {
	s.adjusted = append(s.adjusted, fmt.Sprintf(format, args...))
}

func (s *settings) need(beta string) {
	if !slices.Contains(s.betas, beta) {
		s.betas = append(s.betas, beta)
	}
}

// features are those that the settings use, the newest first.
func (s *settings) features() (list []feature) {
	if s.budget != nil {
		list = append(list, budgets)
	}
	if s.thinking != nil && s.thinking.Binding != nil {
		list = append(list, bindings)
	}
	if s.effort != "" {
		list = append(list, effort)
	}
	if s.thinking != nil {
		list = append(list, thoughts)
	}
	return list
}
