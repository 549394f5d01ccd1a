package tui

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
)

// A NoteFile is a file that notes are kept in.
type NoteFile struct {
	Scope, Path string // project, local or user
	Exists      bool
}

// memory shows the files with instructions and opens one in the editor.
func (a *app) memory(args string) {
	if args != "" {
		a.local("memory", args)
		return
	}
	var items []pick
	for _, f := range a.talk.Input.NoteFiles() {
		detail := a.t(noteAbout[f.Scope])
		if !f.Exists {
			detail = a.t("%s, does not exist yet", detail)
		}
		items = append(items, pick{value: f.Path, text: a.short(f.Path), detail: detail})
	}
	for _, path := range a.talk.Input.Instructions() {
		if !hasValue(items, path) {
			items = append(items, pick{value: path, text: a.short(path), detail: a.t("sent to the model")})
		}
	}
	a.pop(&picker{title: a.t("Which instructions? (#NOTE adds a note without an editor)"), items: items, chooses: "opens it in your editor", choose: func(p pick) {
		a.closeOwn()
		a.editFile(p.value)
	}})
}

// noteAbout says for whom the notes of a scope are.
var noteAbout = map[string]lang.Text{"project": "for everyone who works on this project", "local": "for you, in this project", "user": "for you, everywhere"}

func hasValue(items []pick, value string) bool {
	for _, i := range items {
		if i.value == value {
			return true
		}
	}
	return false
}

// editFile lets the user change a file in their editor.
func (a *app) editFile(path string) {
	if a.opts.EditFile == nil {
		a.hint = a.t("no editor is set: set VISUAL or EDITOR")
		return
	}
	if err := a.lend(func() error { return a.opts.EditFile(path) }); err != nil {
		a.hint = a.t("could not edit: %s", err)
		return
	}
	a.show.add(&note{text: a.t("Edited %s; it takes effect in the next conversation.", visible.Cells(a.short(path))), quiet: true})
}

// keepNote asks where a note is kept: one line that begins with a #. It may have been meant
// as a prompt. It reports false for what is not a note, such as a text with a heading.
func (a *app) keepNote(text string) bool {
	if !strings.HasPrefix(text, "#") || strings.Contains(text, "\n") || strings.Trim(text, "# ") == "" {
		return false
	}
	words := strings.TrimSpace(strings.TrimLeft(text, "#"))
	files := a.talk.Input.NoteFiles()
	var items []string
	for _, f := range files {
		items = append(items, fmt.Sprintf("%s: %s", a.short(f.Path), a.t(noteAbout[f.Scope])))
	}
	items = append(items, a.t("do not save it: send it as a prompt"))
	a.pop(a.whole(&choices{title: a.t("Where should this note be saved?"), body: []string{words}, items: items, at: selection{0, len(items)},
		close: func() {
			if a.write.Empty() && !a.noted {
				a.write.Set(text)
			}
			a.noted = false
		},
		choose: func(i int) {
			a.noted = true
			a.closeOwn()
			if i == len(files) {
				a.say(text)
				return
			}
			a.local("memory", "add "+files[i].Scope+" "+words)
		}}))
	return true
}
