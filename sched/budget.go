package sched

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/tool"
)

// maxAside is how many characters a note or a message beside a result may have.
const maxAside = 20_000

// excerpt is how many characters of a result of an MCP server are shown if it is too long:
// most such results are data, which the model searches in the file that has all of it.
const excerpt = 2_000

// bound limits everything that an outcome puts into the conversation.
func (b *Batch) bound(f *execution, out *Outcome) {
	if !b.excerpt(f, out) {
		granted := b.grant(f, min(f.limit(), output.Size(out.Result.Content)))
		out.Result.Content, out.Kept = b.opts.Output.Bound(f.id+"-"+f.useID, out.Result.Content, granted)
	}
	b.charge(f, output.Size(out.Result.Content)) // a note may be longer than what it replaces
	if holdsForgedReminder(f.name, out.Result.Content) {
		out.Notes = append(out.Notes, forgedReminderNote)
	}
	for i, note := range out.Notes {
		out.Notes[i] = output.Shorten(note, maxAside)
	}
	for i, m := range out.Result.Messages {
		out.Result.Messages[i].Content, _ = b.opts.Output.Bound(fmt.Sprintf("%s-%s-message-%d", f.id, f.useID, i), m.Content, maxAside)
	}
}

// excerpt shortens a result of an MCP server that is too long, if all of it is in a file, and
// reports whether it has.
func (b *Batch) excerpt(f *execution, out *Outcome) bool {
	if f.tool == nil || f.tool.MaxResult != 0 || !strings.HasPrefix(f.tool.Source, "mcp:") || output.Size(out.Result.Content) <= f.limit() {
		return false
	}
	short, kept := b.opts.Output.Bound(f.id+"-"+f.useID, out.Result.Content, b.grant(f, excerpt))
	if kept == nil || kept.Path == "" {
		return false
	}
	out.Result.Content, out.Kept = short, kept
	return true
}

// replace puts a sentence in the place of a result that the model can still see.
func (b *Batch) replace(f *execution, out *Outcome) {
	r := &out.Result
	r.Content = sendable(f.name, r.Content)
	f.whole = r.Content
	if b.shown == nil || r.Unchanged == "" || out.Status != Succeeded || output.Size(r.Content) < worthReplacing {
		return
	}
	if where := b.shown(out); where != "" {
		r.Content = tool.Text(strings.ReplaceAll(r.Unchanged, tool.ShownWhere, where)).Content
	}
}

// worthReplacing is how long a result must be to be replaced: a sentence takes room, too.
const worthReplacing = 600

// leastGrant is what every result may have: even when the message's limit is reached, a result
// must be able to say so.
const leastGrant = 2_000

// limit is how long a result of the call may be at most.
func (f *execution) limit() int {
	if f.tool == nil {
		return tool.DefaultMaxResult
	}
	return f.tool.ResultLimit()
}

// grant returns how many characters a result may have: what the results before it, in the order
// of the message, leave of its limit.
func (b *Batch) grant(f *execution, size int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	left, _ := b.left(f)
	return min(size, max(left, leastGrant))
}

// charge records how long a result has become.
func (b *Batch) charge(f *execution, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.charged, f.bounded = size, true
}

// settled reports whether nothing that is still to come can change what a result may have.
func (b *Batch) settled(f *execution, out *Outcome) bool {
	left, reserved := b.left(f)
	return reserved == 0 || min(f.limit(), output.Size(out.Result.Content)) <= max(left-reserved, leastGrant)
}

// left returns how much of the message's limit the results before f leave, and how much of that
// those may take that are not there yet.
func (b *Batch) left(f *execution) (left, reserved int) {
	for b.head < f.index && (b.calls[b.head].bounded || b.calls[b.head].discarded) {
		b.budget -= b.calls[b.head].charged
		b.head++
	}
	left = b.budget
	for _, s := range b.calls[min(b.head, f.index):f.index] {
		switch {
		case s.discarded:
		case s.bounded:
			left -= s.charged
		case s.state == arriving: // its tool is not known
			reserved += b.limit
		default:
			reserved += s.limit()
		}
	}
	return left, reserved
}

// nextLate takes the first call without a result, if it only waits for those before it. The
// batch is locked.
func (b *Batch) nextLate() (*execution, *Outcome) {
	for _, f := range b.calls[b.head:] {
		if f.bounded || f.discarded {
			continue
		}
		out := f.late
		f.late = nil
		return f, out
	}
	return nil, nil
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
