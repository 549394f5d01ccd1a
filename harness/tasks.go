package harness

// TaskOutput returns the end of what a command has written, at most limit bytes of
// it, and how much there is in all. It reports false for an id that no command has.
func (c *Conversation) TaskOutput(id string, limit int) (end []byte, total int64, ok bool) {
	task, ok := c.World.host.Task(id)
	if !ok {
		return nil, 0, false
	}
	total = task.Output().Counts().Bytes
	end, _ = task.Output().Since(max(0, total-int64(limit)), limit)
	return end, total, true
}
