package harness

import (
	"context"
	"errors"
	"time"

	"github.com/haftdev/haft/internal/harness/market"
)

// checkPlugins tells the user which plugins have updates, if the settings say so, and looks
// for new ones once a day beside the conversation.
func (c *Conversation) checkPlugins(interactive bool) {
	p := c.World.Project
	if !p.Counts.Flag("plugins", "checkForUpdates") {
		return
	}
	store, err := market.Open(p.Home)
	if err != nil {
		return
	}
	found, at := store.Found()
	for _, u := range found {
		c.World.link.Tell(u.String())
	}
	if !interactive || time.Since(at) < 24*time.Hour {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.stopChecking = cancel
	go func() {
		if _, err := store.Check(ctx); err != nil && !errors.Is(err, context.Canceled) {
			c.World.link.Warn("plugins", "Could not look for updates of plugins: "+err.Error())
		}
	}()
}
