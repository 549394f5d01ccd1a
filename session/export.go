package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// Format is how a session is exported.
type Format string

const (
	// Markdown is for people.
	Markdown Format = "markdown"
	// HTML is a page for people. What haft added to the conversation is left out.
	HTML Format = "html"
	// JSONL is the messages of the conversation, one per line, as they were said.
	JSONL Format = "jsonl"
)

// Export writes everything that was said in a session, what was compacted and
// other branches included, without what only haft needs.
func (st *Store) Export(ctx context.Context, id string, w io.Writer, f Format) error {
	path, err := st.Find(id)
	if err != nil {
		return err
	}
	write := exportMarkdown
	switch f {
	case JSONL:
		write = exportJSONL
	case HTML:
		write = exportHTML
		if _, err := fmt.Fprintf(w, htmlHead, idOf(path)); err != nil {
			return fmt.Errorf("export session %s: %w", idOf(path), err)
		}
	case Markdown:
	default:
		return fmt.Errorf("export session: the format %q is not %s, %s or %s", f, Markdown, HTML, JSONL)
	}
	for e, err := range Entries(ctx, path) {
		if err == nil && e.Message != nil && !(f == HTML && e.Message.Synthetic) {
			err = write(w, &e)
		}
		if err != nil {
			return fmt.Errorf("export session %s: %w", idOf(path), err)
		}
	}
	return nil
}

// exported is a message as a program reads it.
type exported struct {
	UUID    string        `json:"uuid"`
	Time    string        `json:"time,omitempty"`
	Role    model.Role    `json:"role"`
	Model   string        `json:"model,omitempty"`
	Content []model.Block `json:"content"`
	Error   string        `json:"error,omitempty"`
}

func exportJSONL(w io.Writer, e *Entry) error {
	out := exported{UUID: e.UUID, Role: e.Message.Role, Model: e.Message.Model, Content: e.Message.Content, Error: e.Message.Error}
	if !e.Time.IsZero() {
		out.Time = e.Time.Format("2006-01-02T15:04:05.000Z07:00")
	}
	raw, err := plainjson.Marshal(out)
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

func exportMarkdown(w io.Writer, e *Entry) error {
	for _, b := range e.Message.Content {
		var err error
		switch b.Type {
		case model.Text:
			_, err = fmt.Fprintf(w, "## %s\n\n%s\n\n", e.Message.Role, strings.TrimSpace(b.Text))
		case model.ToolUse:
			_, err = fmt.Fprintf(w, "### %s\n\n%s\n\n", b.Name, fence(indented(b.Input)))
		case model.ToolResult:
			_, err = fmt.Fprintf(w, "%s\n\n", fence(tool.JoinText(b.Content)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func indented(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// fence quotes a text by more backquotes than it has.
func fence(text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + "\n" + strings.TrimRight(text, "\n") + "\n" + marks
}
