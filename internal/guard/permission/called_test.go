package permission_test

import (
	"encoding/json"

	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/tool"
)

// tools are those that say what a call is about.
var tools = tool.NewSet(&tool.Session{}, builtin.Unattached(), nil, nil)

// called is a call of a tool with an input, which need not be a valid one. Of a tool
// that is not built in only the name is known.
func called(name string, input json.RawMessage) tool.Case {
	return tool.Case{Tool: tools.Lookup(name), Call: &tool.Call{Tool: name, Input: input}}
}
