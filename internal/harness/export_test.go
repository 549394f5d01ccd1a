package harness

import "github.com/haftdev/haft/tool/task"

// Tasks is the task list of the conversation.
func (c *Conversation) Tasks() (task.List, error) { return c.pool.builtins.Tasks.Load() }
