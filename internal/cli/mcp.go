package cli

import (
	"github.com/haftdev/haft/shellrun"
)

// mcpFlags are what the commands under "haft mcp" share.
type mcpFlags struct {
	Streams
	reexec shellrun.Reexec
	json   bool
}
