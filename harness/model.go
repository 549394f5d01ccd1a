package harness

import (
	"strings"

	"github.com/haftdev/haft/model/catalog"
	"github.com/haftdev/haft/model/provider"
)

// connect finds the model that answers. A client that was given is asked as it is.
func (c *Conversation) connect(o *TalkOptions) error {
	if o.Model == "" {
		if set, ok := c.World.Counts.Text("model"); ok {
			o.Model = set.Text
		}
	}
	if set, ok := c.World.Counts.Text("effortLevel"); ok && o.Effort == "" {
		o.Effort = set.Text
	}
	if o.Client != nil {
		o.Model = c.Resolve(o.Model)
		c.Provider, c.KeySource = "given", "none"
		return nil
	}
	opts := &provider.Options{Model: o.Model, UserAgent: "haft/" + o.Version}
	for name := range strings.SplitSeq(o.Fallback, ",") {
		if name = strings.TrimSpace(name); name != "" {
			opts.Fallbacks = append(opts.Fallbacks, name)
		}
	}
	client, info, err := provider.Open(opts)
	if err != nil {
		return err
	}
	o.Client, o.Model = client, info.Model
	c.Provider, c.KeySource, c.small = info.Provider, info.KeySource, info.Small
	return nil
}

// Resolve returns the provider's name of a model; "" means the default one.
func (c *Conversation) Resolve(name string) string {
	if name == "" || name == "default" {
		return catalog.Default
	}
	return catalog.Resolve(name)
}
