package harness

import (
	"context"
	"slices"
	"strings"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// Past returns what was said in the conversation, oldest first: at least the last messages
// and at most twice as many, or all if there are fewer. It leaves out what haft added, and
// what was abandoned by going back.
func (c *Conversation) Past(ctx context.Context, messages int) []session.Entry {
	path, head := c.Journal().Path(), c.Journal().Restored().Last
	if path == "" {
		return nil
	}
	var said []session.Entry
	passed := false
	for e, err := range session.Entries(ctx, path) {
		if err != nil {
			break // a conversation without messages has no file yet
		}
		if e.Agent != "" || e.Message == nil && e.Compaction == nil && e.Back == nil || passed && e.Time.Before(c.Began) {
			continue // what was said after head before going back to it is left out
		}
		passed = passed || e.UUID == head && head != ""
		if said = append(said, e); len(said) >= 2*messages {
			said = slices.Clone(said[messages:])
		}
	}
	return branch(said)
}

// branch returns the messages that lead to the last of the entries, oldest first, without
// those that haft added. A conversation that went back also has others. Messages before a
// summary lead to it.
func branch(entries []session.Entry) []session.Entry {
	var list []session.Entry
	next := ""
	for _, e := range slices.Backward(entries) {
		if next != "" && e.UUID != next {
			continue
		}
		next = e.Parent
		if e.Message != nil && !e.Message.Synthetic {
			list = append(list, e)
		}
	}
	slices.Reverse(list)
	return list
}

// Typed is what the user wrote in a message, without the commands that they ran.
func Typed(blocks []model.Block) string {
	var parts []string
	for _, b := range blocks {
		if b.Type == model.Text && b.Raw == nil && !session.Injected(b) && !strings.HasPrefix(b.Text, "<bash-") {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}
