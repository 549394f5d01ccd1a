package sched

import (
	"fmt"

	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/tool"
)

// maxAside is how many characters a note or a message beside a result may have.
const maxAside = 20_000

// bound limits everything that an outcome puts into the conversation.
func (b *Batch) bound(f *execution, out *Outcome) {
	out.Result.Content = sendable(f.name, out.Result.Content)
	limit := tool.DefaultMaxResult
	if f.tool != nil {
		limit = f.tool.ResultLimit()
	}
	granted := b.take(min(limit, output.Size(out.Result.Content)))
	out.Result.Content, out.Kept = b.opts.Output.Bound(f.id+"-"+f.useID, out.Result.Content, granted)
	b.take(output.Size(out.Result.Content) - granted) // a note may be longer than what it replaces
	for i, note := range out.Notes {
		out.Notes[i] = output.Shorten(note, maxAside)
	}
	for i, m := range out.Result.Messages {
		out.Result.Messages[i].Content, _ = b.opts.Output.Bound(fmt.Sprintf("%s-%s-message-%d", f.id, f.useID, i), m.Content, maxAside)
	}
}

// take takes up to n characters from the message's budget and returns how many were left.
// Even when the budget is spent, a result must be able to say so.
func (b *Batch) take(n int) int {
	const least = 2_000
	b.mu.Lock()
	defer b.mu.Unlock()
	n = min(n, max(b.budget, least))
	b.budget -= n
	return n
}

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
