package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
)

// choices is a question with a few fixed answers.
type choices struct {
	title  string
	body   []string // plain text
	items  []string
	at     selection
	choose func(int)
	full   func() // shows all of the body
	keys   bool   // say what keys do, where nothing else does
	lost   bool   // enter was pressed while nothing was selected
	close  func() // what follows when it is closed without an answer; may be nil
}

func (c *choices) closed() {
	if c.close != nil {
		c.close()
	}
}

func (c *choices) lines(v view, height int) []string {
	c.at.n = len(c.items)
	var head []string
	for i, part := range hardWrap(c.title, v.width-2) {
		lead := "  "
		if i == 0 {
			lead = v.paint.Accent.Of("? ")
		}
		head = append(head, lead+v.paint.Bold.Of(part))
	}
	var body []string
	for _, l := range c.body {
		for _, part := range hardWrap(visible.Cells(l), v.width-4) {
			body = append(body, "    "+part)
		}
	}
	var items []string
	for i, item := range c.items {
		items = append(items, wrappedOption(v, i == c.at.at, fmt.Sprintf("%d %s", i+1, item))...)
	}
	if c.lost {
		items = append(items, v.paint.Warn.Of("    "+cut(v.t("Nothing is selected: up, down or a number, then enter"), v.width-4)))
	}
	if room := max(height-len(head)-len(items), 2); len(body) > room {
		body = append(body[:room-1:room-1], v.paint.Warn.Of("    … "+v.lang.Count(len(body)-room+1, "more line")+" "+v.t("(ctrl+o shows them)")))
	}
	return slices.Concat(head, body, items)
}

func (c *choices) key(k key.Key) bool {
	c.at.n = len(c.items)
	c.lost = k.Name == key.Enter && !c.at.made()
	switch {
	case k.Name == key.Enter:
		if c.at.made() {
			c.choose(c.at.at)
		}
	case k.Rune == 'o' && k.Ctrl && c.full != nil:
		c.full()
	default:
		return c.at.key(k)
	}
	return true
}

// take selects the answer that was typed into the input box.
func (c *choices) take(text string, _ bool) bool {
	c.at.n = len(c.items)
	return c.at.take(text, "")
}

func (c *choices) asks(*lang.Catalogue) string { return c.title }

// lit is the answer that enter takes.
func (c *choices) lit() any { return c.at.lit() }

// A field is something to fill in.
type field struct {
	name, label, help string
	secret            bool     // is not shown
	required          bool     // must not be empty
	options           []string // one of these, by its number from 1; nil for any text
	many              bool     // any of the options, their numbers with commas between them
	check             func(string) error
	value             string // to begin with
}

// A form asks for fields one after the other.
type form struct {
	title   string
	body    []string
	fields  []field
	now     int
	write   *composer.Composer
	at      int          // among a field's options; -1 for none
	ticked  map[int]bool // those of a field that takes several
	fresh   bool         // nothing was typed into the field yet: the first letter replaces what it begins with
	problem string
	done    func(values map[string]string)
	back    func() // goes back to what was before the form; nil closes it
	close   func() // what follows when it is closed unanswered; may be nil
	values  map[string]string
}

func (f *form) closed() {
	if f.close != nil {
		f.close()
	}
}

func newForm(title string, body []string, fields []field, done func(map[string]string)) *form {
	f := &form{title: title, body: body, fields: fields, done: done, values: map[string]string{}}
	f.begin()
	return f
}

func (f *form) begin() {
	f.write, f.at, f.problem, f.fresh, f.ticked = composer.New(nil), -1, "", true, map[int]bool{}
	if f.now >= len(f.fields) {
		return
	}
	fd := f.fields[f.now]
	value := fd.value
	if typed, ok := f.values[fd.name]; ok { // it was filled in before
		value = typed
	}
	if fd.options == nil {
		f.write.Set(value)
		return
	}
	for n := range strings.SplitSeq(value, ",") {
		if i, err := strconv.Atoi(n); err == nil && fd.many {
			f.ticked[i-1] = true
		} else if err == nil {
			f.at = i - 1
		}
	}
	if fd.many {
		f.at = 0
	}
}

func (f *form) lines(v view, height int) []string {
	title := v.paint.Accent.Of("? ") + v.paint.Bold.Of(visible.Cells(f.title))
	var lines []string
	for _, l := range f.body {
		for _, part := range hardWrap(visible.Cells(l), v.width-4) {
			lines = append(lines, "    "+part)
		}
	}
	first := len(lines) // of the field that is filled in
	for i, fd := range f.fields {
		text, mark := visible.Cells(f.values[fd.name]), "  "
		if i == f.now {
			mark, first = v.paint.Accent.Of("▸ "), len(lines)
		}
		switch {
		case i == f.now && fd.options != nil:
			text = ""
		case i == f.now && fd.secret:
			text = strings.Repeat("•", len([]rune(f.write.Text()))) + caret
		case i == f.now:
			text = typed(f.write)
		case fd.secret:
			text = strings.Repeat("•", len([]rune(f.values[fd.name])))
		case fd.options != nil:
			text = visible.Cells(fd.titles(f.values[fd.name]))
		}
		for j, part := range hardWrap(visible.Cells(fd.label)+": "+text, v.width-4) {
			if j > 0 {
				mark = "    "
			}
			lines = append(lines, "  "+mark+part)
		}
		if i == f.now && fd.help != "" {
			lines = append(lines, v.paint.Dim.Of("      "+visible.Cells(fd.help)))
		}
		if i == f.now {
			lines = append(append(lines, f.choices(fd, v)...), f.troubles(v)...)
		}
	}
	if f.now >= len(f.fields) {
		lines = append(lines, f.troubles(v)...)
	}
	height = max(height-1, 3)                             // the title says who asks, and stays
	lines = lines[min(max(len(lines)-height, 0), first):] // the field that is filled in is always seen
	return append([]string{title}, lines[:min(len(lines), height)]...)
}

// troubles are what is wrong with what was filled in, all of it.
func (f *form) troubles(v view) (lines []string) {
	if f.problem == "" {
		return nil
	}
	for _, part := range hardWrap(visible.Cells(v.t(lang.Text(f.problem))), v.width-8) {
		lines = append(lines, v.paint.Bad.Of("      "+part))
	}
	return lines
}

// choices are the options of the field that is filled in.
func (f *form) choices(fd field, v view) []string {
	var lines []string
	for i, o := range fd.options {
		text := fmt.Sprintf("%d %s", i+1, visible.Cells(o))
		if mark := "☐ "; fd.many {
			if f.ticked[i] {
				mark = "☑ "
			}
			text = fmt.Sprintf("%d %s%s", i+1, mark, visible.Cells(o))
		}
		lines = append(lines, "    "+option(v, i == f.at, text))
	}
	return lines
}

// titles are the options with these numbers.
func (fd field) titles(numbers string) string {
	var titles []string
	for n := range strings.SplitSeq(numbers, ",") {
		if i, err := strconv.Atoi(n); err == nil && i >= 1 && i <= len(fd.options) {
			titles = append(titles, fd.options[i-1])
		}
	}
	return strings.Join(titles, ", ")
}

func (f *form) key(k key.Key) bool {
	if f.now >= len(f.fields) {
		return false
	}
	fd := f.fields[f.now]
	switch {
	case k.Name == key.Enter:
		f.enter(fd)
	case fd.options != nil && (k.Name == key.Left || k.Name == key.Up):
		f.at = (max(f.at, 0) + len(fd.options) - 1) % len(fd.options)
	case fd.options != nil && (k.Name == key.Right || k.Name == key.Down):
		f.at = (f.at + 1) % len(fd.options)
	case fd.options != nil && k.Writes() && k.Rune >= '1' && int(k.Rune-'1') < len(fd.options):
		f.at = int(k.Rune - '1')
		f.ticked[f.at] = !f.ticked[f.at]
	case fd.many && k == key.Key{Rune: ' '} && f.at >= 0:
		f.ticked[f.at] = !f.ticked[f.at]
	case k.Name == key.Escape && f.backs():
		f.goBack()
	case fd.options != nil:
		return false
	default:
		f.replace(k.Writes())
		return f.write.Key(k)
	}
	return true
}

// lit is the option of the last field: enter on it ends the form.
func (f *form) lit() any {
	if f.now != len(f.fields)-1 || f.fields[f.now].options == nil {
		return nil
	}
	return f.at
}

func (f *form) asks(*lang.Catalogue) string { return f.title }

func (f *form) backs() bool { return f.now > 0 || f.back != nil }

// goBack goes to the field before, or to what was before the form.
func (f *form) goBack() {
	if f.now == 0 {
		f.back()
		return
	}
	f.now--
	f.begin()
}

// replace takes away what a field began with when the person writes something else.
func (f *form) replace(writes bool) {
	if f.fresh && writes {
		f.write.Set("")
	}
	f.fresh = false
}

func (f *form) paste(text string) bool {
	if f.now >= len(f.fields) || f.fields[f.now].options != nil {
		return false
	}
	f.replace(true)
	f.write.Insert(strings.TrimSpace(text))
	return true
}

// enter takes the field that is filled in, and goes to the next.
func (f *form) enter(fd field) {
	value := strings.TrimSpace(f.write.Filled())
	switch {
	case fd.many:
		value = f.numbers(fd)
	case fd.options != nil && f.at >= 0:
		value = strconv.Itoa(f.at + 1)
	}
	if value == "" && fd.required {
		f.problem = string(missingValue)
		return
	}
	if fd.check != nil && value != "" {
		if err := fd.check(value); err != nil {
			f.problem = err.Error()
			return
		}
	}
	f.values[fd.name] = value
	f.now++
	f.begin()
	if f.now == len(f.fields) {
		f.done(f.values)
	}
}

// missingValue is said of a field that must be filled in.
const missingValue lang.Text = "a value is required"

// numbers are those of the options that are ticked.
func (f *form) numbers(fd field) string {
	var list []string
	for i := range fd.options {
		if f.ticked[i] {
			list = append(list, strconv.Itoa(i+1))
		}
	}
	return strings.Join(list, ",")
}

// hints say what keys do.
func (f *form) hints(v view) []string {
	if f.now >= len(f.fields) {
		return nil
	}
	var list []string
	switch fd := f.fields[f.now]; {
	case fd.many:
		list = append(list, v.t("space or a number: select"))
	case fd.options != nil:
		list = append(list, v.t("up, down or a number"))
	}
	return append(list, v.t("enter continues"))
}

// again asks from the first field on, with a word on why.
func (f *form) again(why string) {
	f.now = 0
	f.begin()
	f.problem = why
}
