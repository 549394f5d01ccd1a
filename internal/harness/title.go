package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// Title is the title of the session; "" if it has none.
func (c *Conversation) Title() string {
	if title := c.title.Load(); title != nil {
		return *title
	}
	return ""
}

// name takes over the title that the session has, or gives a new session its first.
func (c *Conversation) name(ctx context.Context, title string) error {
	restored := c.Journal().Restored()
	if restored.Title != "" {
		c.title.Store(&restored.Title)
	}
	if title == "" || restored.Messages > 0 {
		return nil
	}
	return c.Rename(ctx, title)
}

// Rename names the session.
func (c *Conversation) Rename(ctx context.Context, title string) error {
	if title = strings.TrimSpace(title); title == "" {
		return errors.New("title must not be empty")
	}
	if err := SetTitle(ctx, c.Journal(), title); err != nil {
		return err
	}
	c.title.Store(&title)
	c.World.link.Emit(agent.Changed{What: agent.Title, Value: title})
	return nil
}

// SetTitle names a session that nobody talks in.
func SetTitle(ctx context.Context, s *session.Session, title string) error {
	raw, err := json.Marshal(title)
	if err != nil {
		return err
	}
	return s.Append(ctx, session.Entry{State: &session.State{Name: "title", Value: raw}})
}

const titleSystem = `You name conversations. Answer only with a title of three to seven words for the work described, in the language of the description and in sentence case.`

// ProposeTitle has a model make a title of a description.
func (c *Conversation) ProposeTitle(ctx context.Context, about string) (string, error) {
	history := new(model.History)
	if err := history.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf(about)}}); err != nil {
		return "", err
	}
	name := cmp.Or(c.small, c.Agent.ContextUsage().Model)
	text, usage, err := whole(c.opts.Model.Stream(ctx, &model.Request{
		Model: name, System: []model.System{{Text: titleSystem}}, Messages: history, MaxTokens: maxSmallAnswer,
	}), nil)
	c.Agent.Spend(name, usage)
	if err != nil {
		return "", err
	}
	return titleIn(text), nil
}

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
