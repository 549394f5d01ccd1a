package tui

import (
	"context"
	"encoding/json"

	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/elicit"
	"github.com/haftdev/haft/tool"
)

// asked is a question that waits for the person.
type asked struct {
	panel  panel
	call   *tool.Call // that it is about; nil for none
	answer chan tool.Verdict
	over   bool // it needs no answer any more
}

// person is the one in front of the terminal, for the pipeline.
type person struct{ *app }

// Ask shows the question and returns what the person decides.
func (p person) Ask(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
	q := &asked{call: c.Call, answer: make(chan tool.Verdict, 1)}
	p.later(func() { p.ask(q, c, question) })
	select {
	case v := <-q.answer:
		return v, nil
	case <-ctx.Done():
		go p.later(func() { p.withdraw(q) }) // the app may be waiting for this very call to end
		return tool.Verdict{}, ctx.Err()
	case <-p.ctx.Done():
		return tool.Verdict{}, p.ctx.Err()
	}
}

// Elicit shows the question of an MCP server and returns the person's answer.
func (p person) Elicit(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
	answer := make(chan mcp.Answer, 1)
	q := &asked{}
	p.later(func() {
		q.panel = p.elicitation(e, func(a mcp.Answer) {
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
func (p person) elicitation(e mcp.Elicitation, answer func(mcp.Answer)) panel {
	title := p.t("The server %s asks", visible.Cells(e.Server))
	if e.Mode == "url" {
		return p.whole(&choices{
			title: title, body: []string{e.Message, p.t("It asks you to visit"), e.URL}, items: []string{p.t("No, thanks"), p.t("I have done it")},
			choose: func(i int) { answer(mcp.Answer{Action: []string{"decline", "accept"}[i]}) },
		})
	}
	asked, err := elicit.Fields(e.Schema, p.lang)
	if err != nil {
		return p.whole(&choices{
			title: title, body: []string{e.Message, p.t("Its form cannot be shown: %s", err)}, items: []string{p.t("Decline")},
			choose: func(int) { answer(mcp.Answer{Action: "decline"}) },
		})
	}
	if len(asked) == 0 {
		return p.whole(&choices{
			title: title, body: []string{e.Message}, items: []string{p.t("No"), p.t("Yes")},
			choose: func(i int) {
				answer(mcp.Answer{Action: []string{"decline", "accept"}[i], Content: json.RawMessage("{}")})
			},
		})
	}
	var fields []field
	for _, f := range asked {
		fields = append(fields, formField(f))
	}
	fields = append(fields, field{label: p.t("Send this to %s", e.Server), options: []string{p.t("no"), p.t("yes")}, value: "1", required: true})
	return newForm(title, []string{e.Message}, fields, func(values map[string]string) {
		content, err := elicit.Content(asked, values)
		switch {
		case values[""] != "2":
			answer(mcp.Answer{Action: "decline"})
		case err != nil: // each field was checked
			answer(mcp.Answer{Action: "cancel"})
		default:
			answer(mcp.Answer{Action: "accept", Content: content})
		}
	})
}

// formField is a field as the screen asks for it.
func formField(f elicit.Field) field {
	fd := field{name: f.Name, label: f.Label, help: f.Help, required: f.Required, value: f.Default, many: f.Kind == elicit.Many}
	if f.Required {
		fd.label += " *"
	}
	for _, o := range f.Options {
		fd.options = append(fd.options, o.Title)
	}
	fd.check = func(s string) error {
		_, err := f.Value(s)
		return err
	}
	return fd
}
