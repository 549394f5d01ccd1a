package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	commands "github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/mention"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/tool"
)

// Typed is a command that a person typed.
type Typed struct {
	Command   commands.Command
	Arguments string
	// Text is what the model reads in its place; "" for haft's own commands, which
	// whoever shows the conversation carries out.
	Text string
	// Change is what the command changes for what follows; nil: nothing.
	Change *tool.Change
}

// Typed reads what a person typed. It reports false for text that is no command,
// or one that nobody knows, which goes to the model as it is. An error means that
// the command needs something which was not allowed or did not work.
func (w *World) Typed(ctx context.Context, text string) (t Typed, ok bool, err error) {
	name, args, ok := commands.Line(text)
	if !ok {
		return Typed{}, false, nil
	}
	c, err := w.Library.Commands.Find(name)
	if err != nil {
		return Typed{}, false, nil
	}
	t = Typed{Command: c, Arguments: args}
	t.Text, err = c.Prompt(ctx, prompt.Use{Arguments: args, Dir: w.Shell.Dir("")}, w.Calls)
	var none *commands.NoPrompt
	if errors.As(err, &none) {
		return t, true, nil
	}
	if err == nil && (len(c.Allow) > 0 || c.Model != "") {
		t.Change = &tool.Change{Allow: c.Allow, Model: c.Model}
	}
	return t, true, err
}

// Mentions reports whether a text mentions a file that is there.
func (w *World) Mentions(text string) bool {
	for _, name := range mention.Paths(text) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(w.Shell.Dir(""), name)
		}
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Mentioned returns the files that a text mentions, read as the model would be
// allowed to read them.
func (w *World) Mentioned(ctx context.Context, text string) (string, error) {
	return prompt.Mentioned(ctx, w.Calls, prompt.Use{Dir: w.Shell.Dir("")}, text)
}
