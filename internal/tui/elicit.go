package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/mcp"
)

// Elicit shows the question of an MCP server and returns the person's answer.
func (p person) Elicit(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
	answer := make(chan mcp.Answer, 1)
	q := &asked{}
	p.later(func() {
		q.panel = elicitation(e, func(a mcp.Answer) {
			answer <- a
			p.withdraw(q)
		})
		p.asks = append(p.asks, q)
		p.nextAsk()
		p.dirty = true
	})
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		go p.later(func() { p.withdraw(q) }) // as in Ask
		return mcp.Answer{}, ctx.Err()
	case <-p.ctx.Done():
		return mcp.Answer{}, p.ctx.Err()
	}
}

// elicitation is the panel of a server's question. The server is always named: it
// may be anybody's, and asks in its own words.
func elicitation(e mcp.Elicitation, answer func(mcp.Answer)) panel {
	title := "The server " + visible.Cells(e.Server) + " asks"
	if e.Mode == "url" {
		return &choices{
			title: title, body: []string{e.Message, "It wants you to visit", e.URL}, items: []string{"I do not want to", "I have done it"},
			choose: func(i int) { answer(mcp.Answer{Action: []string{"decline", "accept"}[i]}) },
		}
	}
	fields, err := formFields(e.Schema)
	if err != nil || len(fields) == 0 {
		return &choices{
			title: title, body: []string{e.Message}, items: []string{"No", "Yes"},
			choose: func(i int) {
				answer(mcp.Answer{Action: []string{"decline", "accept"}[i], Content: json.RawMessage("{}")})
			},
		}
	}
	fields = append(fields, field{name: "", label: "Send this to " + e.Server, options: []string{"no", "yes"}})
	return newForm(title, []string{e.Message}, fields, func(values map[string]string) {
		if values[""] != "yes" {
			answer(mcp.Answer{Action: "decline"})
			return
		}
		content, err := formContent(e.Schema, values)
		if err != nil {
			answer(mcp.Answer{Action: "cancel"})
			return
		}
		answer(mcp.Answer{Action: "accept", Content: content})
	})
}

// A property is what a schema says of a field.
type property struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	Default     any      `json:"default"`
}

func formSchema(raw json.RawMessage) (properties map[string]property, required, order []string, err error) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, nil, nil, err
	}
	if err := json.Unmarshal(s.Properties, &properties); err != nil {
		return nil, nil, nil, err
	}
	for name := range properties {
		order = append(order, name)
	}
	slices.Sort(order)
	return properties, s.Required, order, nil
}

func formFields(raw json.RawMessage) ([]field, error) {
	properties, required, order, err := formSchema(raw)
	if err != nil {
		return nil, err
	}
	var fields []field
	for _, name := range order {
		p := properties[name]
		f := field{name: name, label: p.Title, help: p.Description, required: slices.Contains(required, name), options: p.Enum}
		if f.label == "" {
			f.label = name
		}
		if p.Default != nil {
			f.value = fmt.Sprint(p.Default)
		}
		switch p.Type {
		case "boolean":
			f.options = []string{"false", "true"}
		case "integer":
			f.check = func(s string) error {
				if _, err := strconv.ParseInt(s, 10, 64); err != nil {
					return errors.New("that is not a whole number")
				}
				return nil
			}
		case "number":
			f.check = func(s string) error {
				if _, err := strconv.ParseFloat(s, 64); err != nil {
					return errors.New("that is not a number")
				}
				return nil
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// formContent is what was filled in, in the types that the schema asks for.
func formContent(raw json.RawMessage, values map[string]string) (json.RawMessage, error) {
	properties, _, order, err := formSchema(raw)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	for _, name := range order {
		value := values[name]
		if value == "" {
			continue
		}
		switch properties[name].Type {
		case "boolean", "integer", "number":
			content[name] = json.RawMessage(value)
		default:
			content[name] = value
		}
	}
	return json.Marshal(content)
}
