package hook

import (
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/tool"
)

func orNoReason(reason string) string {
	if reason == "" {
		return "no reason given"
	}
	return reason
}

func targetOf(t *tool.Tool, c *tool.Call) target {
	names := []string{c.Tool}
	if t != nil {
		names = append(names, t.Aliases...)
	}
	return target{names: names, tool: t, call: c}
}

func use(t *tool.Tool, c *tool.Call) PreToolUse {
	d := PreToolUse{ToolName: c.Tool, ToolInput: inputOf(c), ToolUseID: c.UseID}
	if t != nil {
		if server, ok := strings.CutPrefix(t.Source, "mcp:"); ok {
			d.MCPServer = &MCPServer{server}
		}
	}
	return d
}

func inputOf(c *tool.Call) json.RawMessage {
	if len(c.Input) == 0 {
		return json.RawMessage("{}")
	}
	return c.Input
}

// destinations are the scopes of suggestions as on the wire.
var destinations = map[string]string{"local": "localSettings", "project": "projectSettings", "user": "userSettings"}
