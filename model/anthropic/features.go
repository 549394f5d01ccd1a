package anthropic

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/models/sse"
	"github.com/haftdev/haft/model"
)

// A feature is a part of a request that not every server knows: one of those below, or the
// name of a beta.
type feature string

const (
	thoughts feature = "thinking"
	bindings feature = "thinking.block_binding"
	effort   feature = "output_config.effort"
	budgets  feature = "output_config.task_budget"
	allBetas feature = "anthropic-beta"
)

// features are those that a request goes without. A nil one goes without none.
type features map[feature]bool

// and returns the features with one more.
func (f features) and(more feature) features {
	f = maps.Clone(f)
	if f == nil {
		f = features{}
	}
	f[more] = true
	return f
}

// signs are the words of a refusal by which a feature is known, the most telling first.
var signs = []struct {
	word string
	of   feature
}{
	{"block_binding", bindings}, {"thinking-binding", bindings},
	{"task_budget", budgets}, {"task-budgets", budgets},
	{"effort", effort}, {"thinking", thoughts}, {"output_config", effort},
}

// offending returns the feature of a request that its server refused; "" if it was
// refused for another reason.
func offending(err error, s *settings, without features) feature {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || !sse.Refused(err, newFeatures) {
		return ""
	}
	said := strings.ToLower(e.Message)
	for _, name := range s.betas {
		if strings.Contains(said, strings.ToLower(name)) {
			return feature(name)
		}
	}
	sent := s.features()
	for _, sign := range signs {
		if strings.Contains(said, sign.word) && slices.Contains(sent, sign.of) {
			return sign.of
		}
	}
	if len(s.betas) > 0 && strings.Contains(said, "beta") {
		return allBetas
	}
	if aboutTools(said) {
		return "" // the caller, which made the tools, knows better
	}
	for _, f := range sent { // it does not say which
		return f
	}
	return ""
}

func aboutTools(said string) bool {
	return strings.Contains(said, "tools.") || strings.Contains(said, "tool_reference") || strings.Contains(said, "defer_loading")
}

// newFeatures are words of refusals that are about parts which not every server knows.
var newFeatures = []string{"thinking", "block_binding", "output_config", "effort", "task_budget", "anthropic-beta", "beta header"}

// maxFeatures is how many features are left out of one request before it is given up.
const maxFeatures = 6

// leftOut says that a feature was left out, and why.
func leftOut(f feature, err error) string {
	why := err.Error()
	if e, ok := errors.AsType[*model.Error](err); ok {
		why = e.Message
	}
	return fmt.Sprintf("The server does not support %s (%s); it is left out from now on.", f, why)
}

// unthought reports whether a request was refused because the calls whose results
// it brings were made without a thought: by another model, or before thinking was
// turned on. Models with a budget continue from there only if they do not think either.
func unthought(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	return ok && e.Status == http.StatusBadRequest && strings.Contains(strings.ToLower(e.Message), "expected `thinking`")
}
