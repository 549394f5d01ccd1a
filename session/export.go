package session

import (
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/model"
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

// exported is a message as a program reads it.
type exported struct {
	UUID    string        `json:"uuid"`
	Time    string        `json:"time,omitempty"`
	Role    model.Role    `json:"role"`
	Model   string        `json:"model,omitempty"`
	Content []model.Block `json:"content"`
	Error   string        `json:"error,omitempty"`
}

// injected are the texts that haft adds to a user's messages: reminders, files, and notes
// that a message was sent while haft worked.
var injected = lazyregexp.New(`^\s*(<(system-reminder|task-notification|file path=|folder path=|command-|local-command-)|The user sent a new message while you were working:$)`)

// Injected reports whether a block of a user's message was added by haft.
func Injected(b model.Block) bool { return b.Type == model.Text && injected.MatchString(b.Text) }
