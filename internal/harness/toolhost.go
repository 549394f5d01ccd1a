package harness

import (
	"slices"

	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/tool"
)

// stateToolHost is the name under which a session keeps where its tools run.
const stateToolHost = "toolsOn"

// isNumbered reports whether a version says which release it is.
func isNumbered(version string) bool {
	return version != "" && version[0] >= '0' && version[0] <= '9'
}

// elsewhere returns which tools of haft's own a set keeps whose tools run on another machine,
// and which tools of that machine it leaves out: only and denied are about both.
func elsewhere(only []string, denied func(*tool.Tool) bool) ([]string, func(*tool.Tool) bool) {
	kept := slices.DeleteFunc(builtin.Conversational(), func(name string) bool { return only != nil && !slices.Contains(only, name) })
	return kept, func(t *tool.Tool) bool {
		name, there := nameThere(t)
		if there && only != nil && !slices.Contains(only, name) {
			return true
		}
		return denied != nil && (denied(t) || there && denied(&tool.Tool{Name: name}))
	}
}

// nameThere is the name that a tool of the tool host has there; false if it is not one.
func nameThere(t *tool.Tool) (string, bool) {
	name, ok := t.Meta["tool"].(string)
	return name, ok && t.Source == "mcp:"+toolhost.Name
}
