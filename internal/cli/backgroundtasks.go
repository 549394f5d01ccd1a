package cli

import (
	"github.com/haftdev/haft/agent"
)

// background tracks the background work of a conversation, by id.
type background map[string]agent.Task
