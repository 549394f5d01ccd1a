package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/tui/composer"
	"github.com/haftdev/haft/internal/tui/key"
)

// A binding is what keys do.
type binding struct {
	keys []string // all that do it, as [key.Key.String] writes them
	does string
	act  func(*app) // nil where somebody else takes the key
}

// bindings are what keys do at the prompt, besides writing.
func bindings() []binding {
	return []binding{
		{[]string{"enter"}, "send", (*app).enter},
		{[]string{"up", "ctrl+p"}, "move up, then through what you wrote before; while haft works, take back what waits", (*app).up},
		{[]string{"down", "ctrl+n"}, "move down, then to what you wrote later", func(a *app) { a.write.Down() }},
		{[]string{"tab"}, "complete; or turn to a question", (*app).tab},
		{[]string{"shift+tab"}, "change the permission mode: asks first, edits allowed, plan only", (*app).nextMode},
		{[]string{"esc"}, "interrupt and get back what waits; twice: go back to an earlier message", (*app).escape},
		{[]string{"ctrl+c"}, "clear; interrupt; twice: leave", (*app).stop},
		{[]string{"ctrl+d"}, "leave", (*app).leave},
		{[]string{"ctrl+o"}, "show the transcript with calls and thoughts in full; / searches it", (*app).openTranscript},
		{[]string{"ctrl+g"}, "write in your editor (VISUAL, EDITOR)", (*app).edit},
		{[]string{"ctrl+b"}, "move the running command to the background; otherwise list what runs there", (*app).background},
		{[]string{"ctrl+t"}, "show or hide the todos", (*app).toggleTodos},
		{[]string{"ctrl+r"}, "search what you wrote before", (*app).searchHistory},
		{[]string{"ctrl+l"}, "begin on an empty screen; what was on it stays in the scrollback", (*app).redraw},
		{[]string{"ctrl+z"}, "suspend haft; fg brings it back", (*app).suspend},
		{[]string{"?"}, "on an empty line: show these keys", func(a *app) { a.show.add(&note{text: keysHelp(), quiet: true}) }},
	}
}

// actOf is what a key does at the prompt; nil for one that writes or edits.
func actOf(k key.Key) func(*app) {
	name := k.String()
	for _, b := range bindings() {
		if slices.Contains(b.keys, name) {
			return b.act
		}
	}
	return nil
}

// viewerKeys and pickerKeys are what keys do in a text on the whole screen and in a list,
// besides those of a list that its last line names.
func viewerKeys() []binding {
	return []binding{
		{[]string{"up", "k"}, "up by a line", nil},
		{[]string{"down", "j"}, "down by a line", nil},
		{[]string{"pageup", "b"}, "up by a page", nil},
		{[]string{"pagedown", " "}, "down by a page", nil},
		{[]string{"home", "g"}, "to the beginning", nil},
		{[]string{"end", "G"}, "to the end", nil},
		{[]string{"/"}, "search; enter goes to the first match from here", nil},
		{[]string{"n"}, "to the next match", nil},
		{[]string{"N"}, "to the match before", nil},
		{[]string{"q", "esc", "enter", "ctrl+o", "ctrl+c"}, "close", nil},
	}
}

// A keyGroup is a part of the table of keys.
type keyGroup struct {
	title string
	rows  []binding
}

// keyTable is all of it: the help and docs/terminal.md are written from it.
func keyTable() []keyGroup {
	var edits []binding
	for _, e := range composer.Edits() {
		edits = append(edits, binding{keys: e.Keys, does: e.Does})
	}
	return []keyGroup{{"At the prompt", bindings()}, {"While you write", edits}, {"In a text on the whole screen", viewerKeys()}}
}

// named is how people write the keys of a row.
func (b binding) named() string {
	names := slices.Clone(b.keys)
	for i, name := range names {
		if long := map[string]string{" ": "space", "pageup": "page up", "pagedown": "page down"}[name]; long != "" {
			names[i] = long
		}
	}
	return strings.Join(names, ", ")
}

func keysHelp() string {
	var b strings.Builder
	for i, g := range keyTable() {
		if i > 0 {
			b.WriteByte('\n')
		}
		width := 0
		for _, r := range g.rows {
			width = max(width, len(r.named()))
		}
		fmt.Fprintf(&b, "%s\n", g.title)
		for _, r := range g.rows {
			fmt.Fprintf(&b, "  %-*s  %s\n", width, r.named(), r.does)
		}
	}
	b.WriteString("\n/ lists commands · @ names files · ! runs a command yourself · # keeps a note for later sessions")
	return b.String()
}
