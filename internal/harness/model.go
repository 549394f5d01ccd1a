package harness

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/models/provider"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// connect finds the model that answers. A client that was passed in is used as it is.
func (c *Conversation) connect(o *TalkOptions) error {
	if o.Model == "" {
		if set, ok := c.World.Project.Counts.Text("model"); ok {
			o.Model = set.Text
		}
	}
	takeVariables(o, c.World.Project.ModelEnv().Get)
	if set, ok := c.World.Project.Counts.Text("effortLevel"); ok && o.Effort == "" {
		o.Effort = set.Text
	}
	if v, ok := c.World.Project.Counts.Lookup("alwaysThinkingEnabled"); ok && o.Thinking == nil && string(v.JSON) == "false" {
		o.Thinking = &model.ThinkingOptions{Mode: "disabled"}
	}
	o.planModel = catalog.Planner(o.Model)
	if o.Client != nil {
		o.Model = c.Resolve(o.Model)
		c.Provider, c.KeySource = "given", "none"
		return nil
	}
	env := c.World.Project.ModelEnv()
	opts := &provider.Options{Model: o.Model, UserAgent: "haft/" + o.Version, Getenv: env.WithKey(env.Helper.Run)}
	for name := range strings.SplitSeq(o.Fallback, ",") {
		if name = strings.TrimSpace(name); name != "" {
			opts.Fallbacks = append(opts.Fallbacks, name)
		}
	}
	client, info, err := provider.Open(opts)
	if err != nil {
		return errors.Join(env.Helper.Err, err)
	}
	if env.Helper.Key != "" && info.KeySource == project.KeyVariable {
		info.KeySource = "apiKeyHelper"
	}
	o.Client, o.Model = client, info.Model
	c.Provider, c.KeySource, c.server, c.small = info.Provider, info.KeySource, info.Server, info.Small
	return nil
}

// takeVariables takes from the environment what the command line does not say, under the names
// of Claude Code.
func takeVariables(o *TalkOptions, get func(string) string) {
	number := func(name string) (int, bool) {
		n, err := strconv.Atoi(get(name))
		return n, err == nil && n >= 0
	}
	if n, ok := number("MAX_THINKING_TOKENS"); ok && o.Thinking == nil {
		o.Thinking = ThinkingTokens(&n, "")
	}
	if n, ok := number("CLAUDE_CODE_MAX_OUTPUT_TOKENS"); ok {
		o.maxTokens = n
	}
	if n, ok := number("CLAUDE_CODE_MAX_CONTEXT_TOKENS"); ok {
		o.window = int64(n)
	}
	o.Effort = cmp.Or(o.Effort, get("CLAUDE_CODE_EFFORT_LEVEL"))
	for name := range strings.SplitSeq(get("ANTHROPIC_BETAS"), ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(o.Betas, name) {
			o.Betas = append(slices.Clip(o.Betas), name)
		}
	}
	if isOn(get("DISABLE_COMPACT")) || isOn(get("DISABLE_AUTO_COMPACT")) {
		o.compactAt = -1
	}
}

// isOn reports whether a variable says yes.
func isOn(value string) bool {
	return value != "" && value != "0" && !strings.EqualFold(value, "false")
}

// goOn finds the model that answers: the one that the session had, if no other is asked
// for. If that one cannot be used, it says why.
func (c *Conversation) goOn(o *TalkOptions, left *session.Restored) (why string, err error) {
	name := state[string](left, agent.StateModel)
	if o.Model != "" || name == "" {
		return "", c.connect(o)
	}
	again := *o
	if again.Model = name; o.Client == nil {
		again.Model = strings.TrimPrefix(state[string](left, stateProvider)+"/"+name, "/")
	}
	failed := c.connect(&again)
	if failed == nil {
		*o = again
		return "", nil
	}
	if err := c.connect(o); err != nil {
		return "", err
	}
	cause, _, _ := strings.Cut(failed.Error(), "\n")
	return fmt.Sprintf("The session used the model %s, which is not available: %s It continues with %s.", again.Model, cause, o.Model), nil
}

// askable returns the provider's name of a model that a skill, a command or an agent names.
// A model that the provider certainly does not have must not replace the current one.
func (c *Conversation) askable(name string) (string, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), c.Provider+"/")
	resolved := c.Resolve(name)
	claude := strings.HasPrefix(resolved, "claude-")
	switch c.Provider {
	case "given", "bedrock", "vertex", "foundry":
	case "anthropic":
		if !claude && strings.HasSuffix(c.server, "//api.anthropic.com") {
			return "", fmt.Errorf("%s has no model %s", c.Provider, name)
		}
	default:
		if resolved != name || claude {
			return "", fmt.Errorf("%s has no model %s", c.Provider, name)
		}
	}
	return resolved, nil
}

// Resolve returns the provider's name of a model; "" means the default one.
func (c *Conversation) Resolve(name string) string {
	if name == "" || name == "default" {
		return catalog.Default
	}
	if c.Provider == "given" {
		return catalog.Resolve(name)
	}
	return provider.Resolve(c.World.Project.ModelEnv().Get, name)
}
