package tui

import (
	"github.com/haftdev/haft/internal/text/lang"
)

// A NoteFile is a file that notes are kept in.
type NoteFile struct {
	Scope, Path string // project, local or user
	Exists      bool
}

// noteAbout says for whom the notes of a scope are.
var noteAbout = map[string]lang.Text{"project": "for everyone who works on this project", "local": "for you, in this project", "user": "for you, everywhere"}
