package harness

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/session"
)

// SetTitle names a session that nobody talks in.
func SetTitle(ctx context.Context, s *session.Session, title string) error {
	raw, err := json.Marshal(title)
	if err != nil {
		return err
	}
	return s.Append(ctx, session.Entry{State: &session.State{Name: "title", Value: raw}})
}

const titleSystem = `You name conversations. Answer only with a title of three to seven words for the work described, in the language of the description and in sentence case.`

// titleIn is the title in a model's answer: some models wrap it in an object, in quotes or
// in several lines.
func titleIn(text string) string {
	var object struct {
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(text), &object) == nil && object.Title != "" {
		text = object.Title
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Trim(strings.TrimSpace(line), "\"'“”.")
	if runes := []rune(line); len(runes) > maxTitle {
		return string(runes[:maxTitle])
	}
	return line
}

const maxTitle = 120 // characters
