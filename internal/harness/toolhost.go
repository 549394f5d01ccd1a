package harness

import (
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/tool"
)

// stateToolHost is the name under which a session keeps where its tools run.
const stateToolHost = "toolsOn"

// isNumbered reports whether a version says which release it is.
func isNumbered(version string) bool {
	return version != "" && version[0] >= '0' && version[0] <= '9'
}

// nameThere is the name that a tool of the tool host has there; false if it is not one.
func nameThere(t *tool.Tool) (string, bool) {
	name, ok := t.Meta["tool"].(string)
	return name, ok && t.Source == "mcp:"+toolhost.Name
}
