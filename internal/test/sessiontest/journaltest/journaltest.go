// Package journaltest looks at conversations that were read from journals, for the tests of
// package session itself, which cannot import those of sessiontest.
package journaltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// Sendable reports why a provider would refuse the conversation.
func Sendable(h *model.History) error {
	var open []string
	for i := range h.Len() {
		m, err := h.Message(i)
		if err != nil {
			return err
		}
		if want := []model.Role{model.User, model.Assistant}[i%2]; m.Role != want {
			return fmt.Errorf("message %d is the %s's", i, m.Role)
		}
		if len(m.Content) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		for j, b := range m.Content {
			switch b.Type {
			case model.ToolResult:
				if j >= len(open) || open[j] != b.UseID {
					return fmt.Errorf("message %d: result %d is for %s, the calls were %v", i, j, b.UseID, open)
				}
			case model.Text:
				if b.Text == "" {
					return fmt.Errorf("message %d has an empty text", i)
				}
			}
			if m.Role == model.User && j < len(open) && b.Type != model.ToolResult {
				return fmt.Errorf("message %d: the result for %s is missing", i, open[j])
			}
		}
		if m.Role == model.User && len(m.Content) < len(open) {
			return fmt.Errorf("message %d: results for %v are missing", i, open[len(m.Content):])
		}
		open = nil
		if m.Role == model.Assistant {
			if last := m.Content[len(m.Content)-1].Type; last == model.Thinking {
				return fmt.Errorf("message %d ends with a thought", i)
			}
			for _, b := range m.Content {
				if b.Type == model.ToolUse {
					open = append(open, b.ID)
				}
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the calls %v have no results", open)
	}
	return nil
}

// Texts returns the texts of a conversation, in order: a call as its id and "?", a result as
// the id of its call, "=" and the text.
func Texts(t testing.TB, h *model.History) string {
	t.Helper()
	var out []string
	for i := range h.Len() {
		m, err := h.Message(i)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range m.Content {
			switch b.Type {
			case model.ToolUse:
				out = append(out, b.ID+"?")
			case model.ToolResult:
				out = append(out, b.UseID+"="+tool.JoinText(b.Content))
			default:
				out = append(out, b.Text)
			}
		}
	}
	return strings.Join(out, " ")
}
