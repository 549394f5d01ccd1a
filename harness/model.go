package harness

import (
	"os"

	"github.com/haftdev/haft/model/anthropic"
)

// connect finds the model that answers.
func (c *Conversation) connect(o *TalkOptions) error {
	if o.Model == "" {
		o.Model = os.Getenv("ANTHROPIC_MODEL")
	}
	o.Model = c.Resolve(o.Model)
	if o.Client == nil {
		o.Client = anthropic.New(anthropic.FromEnv(os.Getenv))
	}
	c.Provider, c.KeySource = "firstParty", "ANTHROPIC_API_KEY"
	return nil
}
