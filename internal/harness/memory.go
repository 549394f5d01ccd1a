package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge/instructions"
)

// Instructions are the files that are sent to the model at the beginning.
func (c *Conversation) Instructions() []instructions.File {
	files, _ := c.World.told("", nil).Files()
	return files
}

// NoteFiles are the files that the user can keep notes in.
func (c *Conversation) NoteFiles() []instructions.Target {
	p := c.World.Project
	home := p.Home
	if len(p.Options.Sources) > 0 && !slices.Contains(p.Options.Sources, settings.User) {
		home = "" // what would not be read is not written
	}
	return instructions.Targets(p.Dir, home)
}

// Note saves a user's note for later conversations, and tells the model of this one. It
// returns the file.
func (c *Conversation) Note(source settings.Source, note string) (path string, err error) {
	for _, t := range c.NoteFiles() {
		if t.Source != source {
			continue
		}
		if err := t.Append(note); err != nil {
			return "", err
		}
		c.notes.Add(fmt.Sprintf("The user added this note to %s. It applies from now on and in later sessions: %s", t.Path, strings.TrimSpace(note)))
		return t.Path, nil
	}
	return "", fmt.Errorf("notes can be added to project, local or user, not to %q", source)
}
