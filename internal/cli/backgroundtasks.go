package cli

import (
	"github.com/haftdev/haft/agent"
)

// background follows what works beside a conversation, by id.
type background map[string]agent.Task
