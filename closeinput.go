package haft

import "github.com/haftdev/haft/wire"

func (c *Client) noteResult(r *Result) {
	c.mu.Lock()
	c.last = r
	c.mu.Unlock()
	c.closeIfOver()
}

func (c *Client) noteState(state string) {
	c.mu.Lock()
	c.stateSeen, c.idle = true, state == wire.StateIdle
	c.mu.Unlock()
	c.closeIfOver()
}

// closeIfOver closes the input of a query when its run is over: at the result or, if
// callbacks may still be called, when the session is idle afterwards.
func (c *Client) closeIfOver() {
	c.mu.Lock()
	over := c.oneShot && c.last != nil && (!c.hasCallbacksLocked() || !c.stateSeen || c.idle)
	c.mu.Unlock()
	if over {
		_ = c.link.CloseWrite() // closing again does nothing
	}
}

func (c *Client) hasCallbacksLocked() bool {
	if c.opts.CanUseTool != nil || len(c.opts.Hooks) > 0 || c.opts.Elicit != nil {
		return true
	}
	for _, s := range c.servers {
		if _, here := s.(*ToolServer); here {
			return true
		}
	}
	return false
}
