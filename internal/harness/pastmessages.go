package harness

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

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
