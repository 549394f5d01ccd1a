package tui

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lang"
)

// A binding is what keys do.
type binding struct {
	keys []string // all that do it, as [key.Key.String] writes them
	does lang.Text
	act  func(*app) // nil where somebody else takes the key
}

// viewerKeys are what keys do in a text on the whole screen.
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
		{[]string{"N"}, "to the previous match", nil},
		{[]string{"q", "esc", "enter", "ctrl+o", "ctrl+c"}, "close", nil},
	}
}

// A keyGroup is a part of the table of keys.
type keyGroup struct {
	title lang.Text
	rows  []binding
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
