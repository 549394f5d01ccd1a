package settings

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// A document is text that is changed by splices, so that every other byte stays.
type document struct {
	text []byte
	root *hujson.Value
	unit string // one step of indentation
	eol  string
	flat bool // all on one line
}

func newDocument(text []byte) (*document, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	v, err := parseValue(text)
	if err != nil {
		return nil, err
	}
	if v.Value.Kind() != '{' {
		return nil, errors.New("settings must be a JSON object, such as {}")
	}
	d := &document{text: text, root: &v, unit: "  ", eol: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		d.eol = "\r\n"
	}
	if first := children(d.root); len(first) > 0 {
		d.flat = !bytes.Contains(text[v.StartOffset:v.EndOffset], []byte("\n"))
		if blanks, alone := d.indentOf(first[0].start); alone && blanks != "" {
			d.unit = blanks
		}
	}
	return d, nil
}

// find returns the last member of that name, which is the one that counts. It must be of
// the given kind; 0 accepts any.
func (d *document) find(object *hujson.Value, name string, kind hujson.Kind) (*hujson.Value, error) {
	members := object.Value.(*hujson.Object).Members
	for i := range slices.Backward(members) {
		if members[i].Name.Value.(hujson.Literal).String() != name {
			continue
		}
		v := &members[i].Value
		if kind != 0 && v.Value.Kind() != kind {
			line := 1 + bytes.Count(d.text[:v.StartOffset], []byte("\n"))
			return nil, fmt.Errorf("line %d: %s must be %s; fix it first", line, name, kindName(byte(kind)))
		}
		return v, nil
	}
	return nil, nil
}

// memberAt returns where in an object a name is first, or -1.
func (d *document) memberAt(object *hujson.Value, name string) int {
	return slices.IndexFunc(object.Value.(*hujson.Object).Members, func(m hujson.ObjectMember) bool {
		return m.Name.Value.(hujson.Literal).String() == name
	})
}

// A span is a member or element: from the first byte of its name or value to the
// end of its value.
type span struct{ start, end int }

func children(container *hujson.Value) []span {
	var all []span
	switch v := container.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			all = append(all, span{m.Name.StartOffset, m.Value.EndOffset})
		}
	case *hujson.Array:
		for _, e := range v.Elements {
			all = append(all, span{e.StartOffset, e.EndOffset})
		}
	}
	return all
}

// indentOf returns the blanks at the beginning of an offset's line, and whether nothing
// else comes before the offset.
func (d *document) indentOf(at int) (blanks string, alone bool) {
	line := d.text[bytes.LastIndexByte(d.text[:at], '\n')+1 : at]
	rest := bytes.TrimLeft(line, " \t")
	return string(line[:len(line)-len(rest)]), len(rest) == 0
}

// insert adds a child at the end of a container, formatted like its neighbours. Comments
// that follow the last child stay with it.
func (d *document) insert(container *hujson.Value, child func(indent) string) []byte {
	kids := children(container)
	if len(kids) == 0 {
		return d.insertFirst(container, child)
	}
	last := kids[len(kids)-1]
	closing := container.EndOffset - 1
	comma, at := d.scan(last.end, closing)

	in := indent{unit: d.unit, eol: d.eol, flat: true}
	before := " "
	if blanks, alone := d.indentOf(last.start); alone {
		in.at, in.flat = blanks, false
		before = d.eol + blanks
	} else if bytes.Contains(d.text[last.end:closing], []byte("\n")) { // perhaps the end of a comment
		blanks, _ := d.indentOf(closing)
		before = d.eol + blanks + d.unit
	}
	added := before + child(in)
	if comma >= 0 {
		return splice(d.text, at, at, added+",")
	}
	return splice(splice(d.text, at, at, added), last.end, last.end, ",")
}

func (d *document) insertFirst(container *hujson.Value, child func(indent) string) []byte {
	open, closing := container.StartOffset, container.EndOffset-1
	blanks, _ := d.indentOf(open)
	in := indent{at: blanks + d.unit, unit: d.unit, eol: d.eol, flat: d.flat}
	_, at := d.scan(open+1, closing)
	switch {
	case d.flat:
		return splice(d.text, at, at, child(in))
	case bytes.Contains(d.text[at:closing], []byte("\n")): // the closing bracket has its own line
		return splice(d.text, at, at, d.eol+in.at+child(in))
	}
	return splice(d.text, at, closing, d.eol+in.at+child(in)+d.eol+blanks)
}

// scan looks at the blanks, comments and the comma between two offsets. It returns where
// the comma is, or -1, and where the last of all but blanks ends.
func (d *document) scan(from, to int) (comma, end int) {
	comma, end = -1, from
	for i := from; i < to; i++ {
		switch d.text[i] {
		case ',':
			comma, end = i, i+1
		case '/':
			i += len(comment(d.text[i:to])) - 1
			end = i + 1
			if d.text[i] == '\r' {
				end-- // the end of the line is not the comment's
			}
		}
	}
	return comma, end
}

// remove removes a child, with one comma and, if nothing else is left on it, its line.
func (d *document) remove(container *hujson.Value, i int) []byte {
	kids := children(container)
	from, to := kids[i].start, kids[i].end
	next := container.EndOffset - 1
	if i+1 < len(kids) {
		next = kids[i+1].start
	}
	if comma, _ := d.scan(to, next); comma >= 0 { // its own comma is removed with it
		text := splice(d.text, comma, comma+1, "")
		return dropBlanks(splice(text, from, to, ""), from)
	}
	if i == 0 {
		return dropBlanks(splice(d.text, from, to, ""), from)
	}
	// It is the last, so the comma before it goes.
	comma, _ := d.scan(kids[i-1].end, from)
	if len(bytes.TrimSpace(d.text[comma+1:from])) == 0 {
		return splice(d.text, comma, to, "")
	}
	text := dropBlanks(splice(d.text, from, to, ""), from)
	return splice(text, comma, comma+1, "")
}

// dropBlanks removes the line at an offset if it is blank now, or else the blanks that
// follow.
func dropBlanks(text []byte, at int) []byte {
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	end := at
	for end < len(text) && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r') {
		end++
	}
	if end < len(text) && text[end] == '\n' && start > 0 && len(bytes.TrimSpace(text[start:at])) == 0 {
		return splice(text, start, end+1, "")
	}
	if end < len(text) && text[end] != '\n' && text[end] != ']' {
		return splice(text, at, end, "")
	}
	return text
}

func splice(text []byte, from, to int, with string) []byte {
	return slices.Concat(text[:from], []byte(with), text[to:])
}

// An indent is how new text is set.
type indent struct {
	at   string // the blanks before a line
	unit string
	eol  string
	flat bool // on one line
}

// wrap returns brackets with one child between them, one step further in.
func (in indent) wrap(brackets string, child func(indent) string) string {
	inner := in
	inner.at += in.unit
	if in.flat {
		return brackets[:1] + child(inner) + brackets[1:]
	}
	return brackets[:1] + in.eol + inner.at + child(inner) + in.eol + in.at + brackets[1:]
}
