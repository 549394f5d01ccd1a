package harness

import (
	"os"
	"strings"

	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/retry"
)

// connect finds the model that answers.
func (c *Conversation) connect(o *TalkOptions) error {
	if o.Model == "" {
		o.Model = os.Getenv("ANTHROPIC_MODEL")
	}
	o.Model = c.Resolve(o.Model)
	if o.Client == nil {
		patience := retry.FromEnv(os.Getenv)
		for name := range strings.SplitSeq(o.Fallback, ",") {
			if name != "" {
				patience.Fallbacks = append(patience.Fallbacks, c.Resolve(strings.TrimSpace(name)))
			}
		}
		o.Client = retry.New(anthropic.New(anthropic.FromEnv(os.Getenv)), patience)
	}
	c.Provider, c.KeySource = "firstParty", "ANTHROPIC_API_KEY"
	return nil
}
