package harness

import (
	"github.com/haftdev/haft/tool/task"
	"github.com/haftdev/haft/tool/todo"
)

// Todos is the todo list of the conversation.
func (c *Conversation) Todos() []todo.Item { return c.pool.builtins.Todos.Items("") }

// Tasks is its task list.
func (c *Conversation) Tasks() (task.List, error) { return c.pool.builtins.Tasks.Load() }
