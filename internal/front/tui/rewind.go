package tui

import (
	"slices"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// turnBacks are the person's messages, newest first.
func turnBacks(past []session.Entry) []turnBack {
	var list []turnBack
	before := ""
	for _, e := range past {
		if text := harness.Typed(e.Message.Content); e.Message.Role == model.User && text != "" {
			list = append(list, turnBack{e.UUID, before, text, e.Time})
		}
		before = e.UUID
	}
	slices.Reverse(list)
	return list
}
