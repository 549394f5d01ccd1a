package project

import (
	"maps"

	"github.com/haftdev/haft/tool"
)

// Embedded is the [tool.Tool.Source] of tools of the program that embeds haft.
const Embedded = "program"

// OwnTools returns the tools that are neither haft's nor an MCP server's. Like haft's, they are
// described from the first request on, unless they say that they are deferred.
func (p *Project) OwnTools() []tool.Tool {
	var own []tool.Tool
	for _, t := range p.Options.Embedded {
		t.Source = Embedded
		t.Meta = maps.Clone(t.Meta)
		if t.Meta == nil {
			t.Meta = make(map[string]any)
		}
		t.Meta[tool.AlwaysLoad] = !t.Deferred
		own = append(own, t)
	}
	return own
}
