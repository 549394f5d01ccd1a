package harness

import "github.com/haftdev/haft/internal/tools/task"

// Tasks is the task list of the conversation.
func (c *Conversation) Tasks() (task.List, error) { return c.pool.builtins.Tasks.Load() }

// LooksAhead reports whether the repository is looked at before a prompt is sent.
func (w *World) LooksAhead() bool { return w.ahead != nil }
