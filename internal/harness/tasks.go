package harness

// Background moves the command or the agent that a call waits for to the background: the
// call returns, and the model is told when the work ends. "" means everything that the main
// conversation waits for. It reports whether there was anything.
func (c *Conversation) Background(useID string) bool {
	any := c.World.Crew.Background(useID)
	for _, t := range c.World.host.Tasks() {
		if (t.Tag() == useID || useID == "" && t.Owner() == "") && t.Release() {
			any = true
		}
	}
	return any
}

// TaskOutput returns the end of a command's output, at most limit bytes, and how much there
// is in all. It reports false for an id that no command has.
func (c *Conversation) TaskOutput(id string, limit int) (end []byte, total int64, ok bool) {
	task, ok := c.World.host.Task(id)
	if !ok {
		return nil, 0, false
	}
	total = task.Output().Counts().Bytes
	end, _ = task.Output().Since(max(0, total-int64(limit)), limit)
	return end, total, true
}
