package tui

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
)

// A picker is a list to choose from. Typing narrows it down.
type picker struct {
	title  string
	items  []pick
	filter string
	at     int
	// choose is called with what was chosen; act, if set, with what the delete key
	// was pressed on.
	choose func(pick)
	act    func(pick)
	// chooses and acts are what they do, for the person; "" is "chooses".
	chooses, acts lang.Text
	more          []lang.Text // what other keys do
	close         func()      // what follows when it is closed; may be nil
	none          lang.Text   // is said where there is nothing to choose; "" is "nothing"
	onScreen      []pick      // that were laid out last
}

// A pick is something to choose.
type pick struct {
	value, text, detail string
	also                string // is searched, and not shown
}

func (p *picker) matching() []pick {
	if p.filter == "" {
		return p.items
	}
	var list []pick
	for _, i := range p.items {
		if strings.Contains(strings.ToLower(i.text+" "+i.detail+" "+i.also), strings.ToLower(p.filter)) {
			list = append(list, i)
		}
	}
	return list
}

func (p *picker) lines(v view, height int) []string {
	list := p.matching()
	p.at = max(0, min(p.at, len(list)-1))
	title := p.title
	if p.filter != "" {
		title += " " + visible.Cells(p.filter) + caret
	}
	var lines []string
	for _, l := range hardWrap(title, v.width) {
		lines = append(lines, v.paint.Bold.Of(l))
	}
	column := 0
	for _, item := range list[:min(len(list), 200)] {
		if w := ansi.StringWidth(visible.Cells(item.text)); item.detail != "" && w <= v.width/3 {
			column = max(column, w)
		}
	}
	selected := p.selectedLines(v, column)
	room := max(height-len(lines)-len(selected), 1)
	from := max(0, min(p.at-room/2, len(list)-room))
	p.onScreen = list[from:min(from+room, len(list))]
	for i, item := range p.onScreen {
		if from+i == p.at {
			lines = append(lines, selected...)
			continue
		}
		text := visible.Cells(item.text)
		if item.detail != "" {
			text += strings.Repeat(" ", max(column-ansi.StringWidth(text), 0)) + v.paint.Dim.Of("  "+visible.Cells(item.detail))
		}
		lines = append(lines, option(v, false, strings.ReplaceAll(text, "\n", " ")))
	}
	if len(list) == 0 {
		none := cmp.Or(p.none, "nothing")
		if p.filter != "" {
			none = "nothing matches"
		}
		lines = append(lines, v.paint.Dim.Of("    "+v.t(none)))
	}
	return append(lines, v.paint.Dim.Of("  "+footer(v.width-2, p.help(v)...)))
}

// selectedLines are what is selected, in full: what has no room in a line of the others can
// be read by selecting it.
func (p *picker) selectedLines(v view, column int) []string {
	item, ok := p.selected()
	if !ok {
		return nil
	}
	text := visible.Cells(item.text)
	if item.detail != "" {
		text += strings.Repeat(" ", max(column-ansi.StringWidth(text), 0)) + "  " + visible.Cells(item.detail)
	}
	const most = 4
	lines := wrappedOption(v, true, strings.ReplaceAll(text, "\n", " "))
	if len(lines) > most {
		lines = append(lines[:most-1], "      "+cut(strings.TrimSpace(lines[most-1])+" "+strings.TrimSpace(lines[most]), v.width-8))
	}
	return lines
}

// help says where in the list the selection is, and what keys do.
func (p *picker) help(v view) []string {
	list := p.matching()
	help := []string{v.t("%d of %d", min(p.at+1, len(list)), len(list)), v.t("enter %s", v.t(cmp.Or(p.chooses, "chooses")))}
	if p.act != nil {
		help = append(help, v.t("delete %s", v.t(p.acts)))
	}
	for _, m := range p.more {
		help = append(help, v.t(m))
	}
	return append(help, v.t("esc closes"), v.t("type to filter"))
}

// selected is what enter would choose.
func (p *picker) selected() (pick, bool) {
	list := p.matching()
	if len(list) == 0 {
		return pick{}, false
	}
	return list[max(0, min(p.at, len(list)-1))], true
}

func (p *picker) closed() {
	if p.close != nil {
		p.close()
	}
}

func (p *picker) key(k key.Key) bool {
	selected, any := p.selected()
	switch {
	case k.Name == key.Up:
		p.at--
	case k.Name == key.Down:
		p.at++
	case k.Name == key.PageUp:
		p.at -= 10
	case k.Name == key.PageDown:
		p.at += 10
	case k.Name == key.Enter && any:
		p.choose(selected)
	case k.Name == key.Delete && p.act != nil && any:
		p.act(selected)
	case k.Name == key.Backspace && p.filter != "":
		r := []rune(p.filter)
		p.filter = string(r[:len(r)-1])
	case k.Writes():
		p.filter, p.at = p.filter+string(k.Rune), 0
	case k.Name == key.Escape:
		return false
	}
	p.at = max(0, min(p.at, len(p.matching())-1))
	return true
}
