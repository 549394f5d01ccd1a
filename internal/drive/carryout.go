package drive

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// ErrStopped is why a message that the user stopped has no answer.
var ErrStopped = errors.New("stopped")

var commandName = lazyregexp.New(`^\pL[\pL\pN_:-]*$`)

// ScreenCommands are those that only a screen carries out.
func ScreenCommands() []command.Command {
	var list []command.Command
	for _, c := range []struct {
		name string
		does lang.Text
	}{
		{"copy", "Copy the last answer to the clipboard"},
		{"exit", "Quit haft"},
		{"tasks", "Show and stop background work"},
		{"keys", "Show the key bindings"},
		{"login", "Set up a model"},
		{"terminal-setup", "Show how to set up shift+enter and the clipboard in this terminal"},
		{"theme", "Choose the colours"},
		{"vim", "Turn vim keys on or off"},
		{"new", "Start a new conversation; this one stays in the list of sessions"},
	} {
		list = append(list, command.Command{Name: c.name, Description: string(c.does)})
	}
	return list
}

// isImage reports whether a path is that of an image that is there.
func isImage(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	return false
}
