package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/internal/workspace/patch"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// Format is how a session is exported.
type Format string

const (
	// Markdown is for reading, with file changes as diffs. What haft added to the
	// conversation is left out.
	Markdown Format = "markdown"
	// HTML is a web page for reading. What haft added to the conversation is left out.
	HTML Format = "html"
	// JSONL has the messages of the conversation, one per line, unchanged.
	JSONL Format = "jsonl"
)

// Export writes everything that was said in a session, including other branches and what
// was compacted, but not what only haft needs.
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
		return fmt.Errorf("export session: unknown format %q: use %s, %s or %s", f, Markdown, HTML, JSONL)
	}
	for e, err := range Entries(ctx, path) {
		if err == nil && e.Message != nil && (f == JSONL || !e.Message.Synthetic) {
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

// injected are the texts that haft adds to a user's messages: reminders, files, and notes
// that a message was sent while haft worked.
var injected = lazyregexp.New(`^(<(system-reminder|task-notification|file path=|command-|local-command-)|The user sent a new message while you were working:$)`)

// Injected reports whether a block of a user's message was added by haft.
func Injected(b model.Block) bool { return b.Type == model.Text && injected.MatchString(b.Text) }

func exportMarkdown(w io.Writer, e *Entry) error {
	for _, b := range e.Message.Content {
		var err error
		switch b.Type {
		case model.Text:
			if e.Message.Role == model.User && Injected(b) {
				continue
			}
			_, err = fmt.Fprintf(w, "## %s\n\n%s\n\n", e.Message.Role, strings.TrimSpace(b.Text))
		case model.ToolUse:
			_, err = fmt.Fprintf(w, "### %s\n\n%s\n\n", b.Name, fence("json", plainjson.Indented(b.Input)))
		case model.ToolResult:
			_, err = fmt.Fprintf(w, "%s\n\n%s", fence("", tool.JoinText(b.Content)), diff(e.Message.Output))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// diff is what a call changed in a file, according to its typed output; "" if that does not
// say.
func diff(output json.RawMessage) string {
	var out struct {
		Path  string       `json:"filePath"`
		Hunks []patch.Hunk `json:"structuredPatch"`
	}
	if json.Unmarshal(output, &out) != nil || len(out.Hunks) == 0 {
		return ""
	}
	text := fmt.Sprintf("--- %s\n+++ %[1]s\n", out.Path)
	for _, h := range out.Hunks {
		text += fmt.Sprintf("@@ -%d,%d +%d,%d @@\n%s\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines, strings.Join(h.Lines, "\n"))
	}
	return fence("diff", text) + "\n\n"
}

// fence quotes a text of a language by more backquotes than it has.
func fence(lang, text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + lang + "\n" + strings.TrimRight(text, "\n") + "\n" + marks
}
