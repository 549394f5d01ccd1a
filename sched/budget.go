package sched

import (
	"fmt"

	"github.com/haftdev/haft/tool"
)

// maxAside is how many characters a note or a message beside a result may have.
const maxAside = 20_000

// excerpt is how many characters of a result of an MCP server are shown if it is too long:
// most such results are data, which the model searches in the file that has all of it.
const excerpt = 2_000

// worthReplacing is how long a result must be to be replaced: a sentence takes room, too.
const worthReplacing = 600

// leastGrant is what every result may have: even when the message's limit is reached, a result
// must be able to say so.
const leastGrant = 2_000

// sendable makes sure that a result has content, and only of types that a provider knows.
func sendable(name string, content []tool.Block) []tool.Block {
	if len(content) == 0 {
		return tool.Text("(" + name + " returned no content)").Content
	}
	for i, c := range content {
		if !c.Known() {
			content[i] = tool.Block{Type: tool.TextBlock, Text: fmt.Sprintf("[%s returned a block of the unknown type %q]", name, c.Type)}
		}
	}
	return content
}
