package drive

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/harness/slash"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
)

// ErrStopped is why a message that the user stopped has no answer.
var ErrStopped = errors.New("stopped")

// readable reports whether a message has a command or mentions something. d.mu is held.
func (d *Driver) readable(m Message) bool {
	if m.Literal {
		return false
	}
	text, in := m.typed(), d.talk.Input()
	return len(m.Images) > 0 || d.commandIn(m) >= 0 || isImage(d.path(text)) || in.Mentions(text) || len(in.Missing(text)) > 0
}

// commandIn returns which block of a message is a command, -1 for none. Programs send what
// belongs to it, such as images and context, in blocks of their own, so the last command that
// stands for a prompt counts. Other commands count only as the text that was typed.
func (d *Driver) commandIn(m Message) int {
	if d.opts.NoCommands {
		return -1
	}
	typed, in := m.typed(), d.talk.Input()
	for i, b := range slices.Backward(m.Content) {
		if b.Type == model.Text && (in.IsPrompt(b.Text) || b.Text == typed && d.looksLikeCommand(in, typed)) {
			return i
		}
	}
	return -1
}

// looksLikeCommand reports whether a text is a command, or was meant as one: a text that
// begins with a path is not.
func (d *Driver) looksLikeCommand(in *slash.Input, text string) bool {
	name, _, ok := command.Line(text)
	if !ok || in.IsCommand(text) {
		return ok
	}
	if _, err := os.Lstat("/" + name); err == nil {
		return false
	}
	return commandName.MatchString(name)
}

var commandName = lazyregexp.New(`^\pL[\pL\pN_:-]*$`)

// next carries out the first of what was typed and reports whether there was something. It
// stays the first until then, so that nothing overtakes it.
func (d *Driver) next(ctx context.Context) bool {
	d.mu.Lock()
	if len(d.typed) == 0 || d.talk == nil {
		d.mu.Unlock()
		return false
	}
	m := d.typed[0]
	ctx, d.stop = context.WithCancel(ctx)
	defer d.stop()
	d.mu.Unlock()
	d.carryOut(ctx, m)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop, d.handed = nil, false
	if len(d.typed) > 0 { // otherwise another process has taken the session over
		d.typed = d.typed[1:]
	}
	return true
}

// carryOut carries out a command, or sends what it stands for to the model.
func (d *Driver) carryOut(ctx context.Context, m Message) {
	at := -1
	if !m.Literal {
		at = d.commandIn(m)
	}
	if at < 0 {
		d.send(ctx, d.complete(ctx, m))
		return
	}
	said := m.Content[at].Text
	t, ok, err := d.talk.Input().Read(ctx, said)
	name := t.Command.Name
	switch {
	case ctx.Err() != nil:
		d.answer(m, name, "", ErrStopped)
	case err != nil:
		d.answer(m, name, "", errors.New(d.words.Load().T("could not run /%s: %s", name, d.words.Load().Error(err))))
	case !ok:
		d.unknown(m, said)
	case t.Text != "":
		m.Content = slices.Clone(m.Content)
		m.Content[at] = model.TextOf(t.Text)
		m.Said, m.Change, m.Answer = said, t.Change, t.Answer
		d.send(ctx, d.withImages(ctx, m))
	default:
		d.builtin(m, name, t.Arguments)
	}
}

// builtin carries out one of haft's own commands.
func (d *Driver) builtin(m Message, name, arguments string) {
	if d.opts.Refuse != nil {
		if err := d.opts.Refuse(name, arguments); err != nil {
			d.answer(m, name, "", err)
			return
		}
	}
	switch {
	case name == "compact":
		d.hand(func() { d.talk.Agent.CompactAs(m.UUID, arguments) })
	case name == "clear" && d.opts.OneSession:
		d.answer(m, name, "", errors.New(d.words.Load().T("/clear is not available here: start a new session instead.")))
	case name == "clear":
		d.hand(func() { d.talk.Agent.ClearAs(m.UUID) })
	default:
		run := answers.Run
		if d.opts.Terminal && !m.watcher {
			run = answers.AtTerminal
		}
		text, ok, err := run(d.talk, d.words.Load(), name, arguments)
		if !ok {
			err = d.needsScreen(name)
		}
		d.answer(m, name, text, err)
	}
}

// unknown answers a command that does not exist. It is not sent to the model, which would
// cost money and do something else.
func (d *Driver) unknown(m Message, said string) {
	name, _, _ := command.Line(said)
	var names []string
	for _, c := range slices.Concat(d.talk.Input().Commands.List().Commands, ScreenCommands()) {
		if c.Name == name {
			d.answer(m, name, "", d.needsScreen(name))
			return
		}
		names = append(names, "/"+c.Name)
	}
	words := d.words.Load()
	d.answer(m, name, "", errors.New(words.T("There is no command /%s.", visible.Indented(name))+" "+answers.Near(words, "/"+name, names, "/help lists them.")))
}

func (d *Driver) needsScreen(name string) error {
	return errors.New(d.words.Load().T("/%s needs a screen; it has no effect here.", name))
}

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

// answer reports what came of a command.
func (d *Driver) answer(m Message, name, text string, err error) {
	d.hand(func() { d.talk.Agent.Emit(CommandDone{Prompt: m.Prompt, Command: name, Text: text, Err: err}) })
}

// hand gives the agent what came of the message that is carried out. Whoever reads of it finds
// that the driver is not busy with the message any more: nothing else would tell them.
func (d *Driver) hand(give func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handed = true
	give()
}

// warn tells the user what is wrong with a message that is sent nevertheless.
func (d *Driver) warn(text string) {
	d.talk.Agent.Emit(agent.Notice{Level: "warning", Tag: "prompt", Text: text})
}

// send gives a message to the model, if it is still wanted.
func (d *Driver) send(ctx context.Context, m Message) {
	if ctx.Err() != nil {
		d.answer(m, "", "", ErrStopped)
		return
	}
	d.hand(func() { d.talk.Send(m.Prompt) })
}

// complete adds the files, folders and images that a message mentions, if the model may read
// them, and says which are missing.
func (d *Driver) complete(ctx context.Context, m Message) Message {
	text := m.typed()
	for _, name := range d.talk.Input().Missing(text) {
		d.warn(d.words.Load().T("There is no file @%s here; it is sent as text.", visible.Indented(name)))
	}
	p, err := d.talk.WithFiles(ctx, m.Prompt, text)
	if err != nil && ctx.Err() == nil {
		d.warn(d.words.Load().Error(err))
	}
	if len(p.Content) > len(m.Content) {
		p.Said = text
	}
	m.Prompt = p
	if path := d.path(text); isImage(path) {
		m.Images = append(slices.Clip(m.Images), path)
	}
	return d.withImages(ctx, m)
}

// withImages adds the images of a message.
func (d *Driver) withImages(ctx context.Context, m Message) Message {
	for _, path := range m.Images {
		blocks, err := d.talk.ReadMedia(ctx, path)
		if err != nil {
			d.warn(d.words.Load().T("Could not read the image: %s", err))
			continue
		}
		if m.Said == "" {
			m.Said = m.typed()
		}
		m.Content = append(slices.Clip(m.Content), blocks...)
	}
	return m
}

// path is the file that a text names if it is nothing but a path.
func (d *Driver) path(text string) string {
	path := strings.Trim(strings.TrimSpace(text), `'"`)
	if path == "" || len(path) > 4096 || strings.Contains(path, "\n") {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.talk.Dir(), path)
	}
	return path
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
