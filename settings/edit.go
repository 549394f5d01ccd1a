package settings

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// addRule returns text with the rule at the end of permissions.<list>.
func addRule(text []byte, list, rule string) ([]byte, error) {
	d, err := newDocument(text)
	if err != nil {
		return nil, err
	}
	permissions, err := d.find(d.root, "permissions", '{')
	if err != nil {
		return nil, err
	}
	if permissions == nil {
		return d.insert(d.root, func(in indent) string {
			return `"permissions": ` + in.wrap("{}", func(in indent) string { return newList(in, list, rule) })
		}), nil
	}
	rules, err := d.find(permissions, list, '[')
	if err != nil {
		return nil, err
	}
	if rules == nil {
		return d.insert(permissions, func(in indent) string { return newList(in, list, rule) }), nil
	}
	if len(rulesAt(rules, rule)) > 0 {
		return d.text, nil
	}
	return d.insert(rules, func(indent) string { return quote(rule) }), nil
}

func newList(in indent, list, rule string) string {
	return quote(list) + ": " + in.wrap("[]", func(indent) string { return quote(rule) })
}

// removeRule returns text without the rule in permissions.<list>.
func removeRule(text []byte, list, rule string) ([]byte, error) {
	for {
		d, err := newDocument(text)
		if err != nil {
			return nil, err
		}
		permissions, err := d.find(d.root, "permissions", '{')
		if err != nil || permissions == nil {
			return text, err
		}
		rules, err := d.find(permissions, list, '[')
		if err != nil || rules == nil {
			return text, err
		}
		at := rulesAt(rules, rule)
		if len(at) == 0 {
			return text, nil
		}
		text = d.remove(rules, at[0])
	}
}

// rulesAt returns where in a list the rule is.
func rulesAt(list *hujson.Value, rule string) []int {
	var at []int
	for i, e := range list.Value.(*hujson.Array).Elements {
		if l, ok := e.Value.(hujson.Literal); ok && l.Kind() == '"' && l.String() == rule {
			at = append(at, i)
		}
	}
	return at
}

func quote(s string) string { return string(hujson.String(s)) }

// A document is text that is changed by splices, so that every byte that is not
// meant stays.
type document struct {
	text []byte
	bom  int // how many bytes come before what was parsed
	root *hujson.Value
	unit string // one step of indentation
	eol  string
	flat bool // all on one line
}

func newDocument(text []byte) (*document, error) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(text, bom))) == 0 {
		text = []byte("{}\n")
	}
	v, err := parseValue(text)
	if err != nil {
		return nil, err
	}
	if v.Value.Kind() != '{' {
		return nil, fmt.Errorf("settings must be a JSON object, such as {}")
	}
	d := &document{text: text, root: &v, unit: "  ", eol: "\n"}
	if bytes.HasPrefix(text, bom) {
		d.bom = len(bom)
	}
	if bytes.Contains(text, []byte("\r\n")) {
		d.eol = "\r\n"
	}
	if first := children(d.root); len(first) > 0 {
		d.flat = !bytes.Contains(d.text[d.start(d.root):d.end(d.root)], []byte("\n"))
		if own, ok := d.ownLine(first[0]); ok && own != "" {
			d.unit = own
		}
	}
	return d, nil
}

func (d *document) start(v *hujson.Value) int { return v.StartOffset + d.bom }
func (d *document) end(v *hujson.Value) int   { return v.EndOffset + d.bom }

// find returns the last member of that name, which is the one that counts.
func (d *document) find(object *hujson.Value, name string, kind hujson.Kind) (*hujson.Value, error) {
	members := object.Value.(*hujson.Object).Members
	for i := range slices.Backward(members) {
		if members[i].Name.Value.(hujson.Literal).String() != name {
			continue
		}
		v := &members[i].Value
		if v.Value.Kind() != kind {
			line := 1 + bytes.Count(d.text[:d.start(v)], []byte("\n"))
			return nil, fmt.Errorf("line %d: %s must be %s; mend it first", line, name, kindName(byte(kind)))
		}
		return v, nil
	}
	return nil, nil
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

// ownLine returns the blanks before a span that begins its line.
func (d *document) ownLine(s span) (blanks string, ok bool) { return d.lineBefore(s.start + d.bom) }

func (d *document) lineBefore(at int) (blanks string, ok bool) {
	line := d.text[bytes.LastIndexByte(d.text[:at], '\n')+1 : at]
	if len(bytes.TrimLeft(line, " \t")) > 0 || len(line) == at {
		return "", false
	}
	return string(line), true
}

// lineIndent returns the blanks that the line of an offset begins with.
func (d *document) lineIndent(at int) string {
	line := d.text[bytes.LastIndexByte(d.text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// insert adds a child at the end of a container, set like its neighbours. Comments
// that follow the last child stay with it.
func (d *document) insert(container *hujson.Value, child func(indent) string) []byte {
	kids := children(container)
	closing := d.end(container) - 1
	if len(kids) == 0 {
		return d.insertFirst(container, closing, child)
	}
	last := kids[len(kids)-1]
	in := indent{unit: d.unit, eol: d.eol, flat: true}
	before := " "
	if own, ok := d.ownLine(last); ok {
		in.at, in.flat = own, false
		before = d.eol + own
	}
	end := last.end + d.bom
	comma, at := d.scan(end, closing)
	if in.flat && bytes.Contains(d.text[end:closing], []byte("\n")) { // perhaps the end of a comment
		before = d.eol + d.lineIndent(closing) + d.unit
	}
	added := before + child(in)
	if comma >= 0 {
		return splice(d.text, at, at, added+",")
	}
	text := splice(d.text, at, at, added)
	return splice(text, end, end, ",")
}

func (d *document) insertFirst(container *hujson.Value, closing int, child func(indent) string) []byte {
	open := d.start(container)
	in := indent{at: d.lineIndent(open) + d.unit, unit: d.unit, eol: d.eol, flat: d.flat}
	_, at := d.scan(open+1, closing)
	tail := string(d.text[at:closing])
	switch {
	case d.flat:
		return splice(d.text, at, at, child(in))
	case bytes.Contains([]byte(tail), []byte("\n")): // there is a comment, and the closing bracket has its own line
		return splice(d.text, at, at, d.eol+in.at+child(in))
	}
	return splice(d.text, at, closing, d.eol+in.at+child(in)+d.eol+d.lineIndent(open))
}

// scan looks at the blanks, comments and the comma between two offsets. It
// returns where the comma is, or -1, and where the last of all but blanks ends.
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

// remove takes a child out, with one comma and, if nothing else is left on it, its
// line.
func (d *document) remove(container *hujson.Value, i int) []byte {
	kids := children(container)
	from, to := kids[i].start+d.bom, kids[i].end+d.bom
	next := d.end(container) - 1
	if i+1 < len(kids) {
		next = kids[i+1].start + d.bom
	}
	if comma, _ := d.scan(to, next); comma >= 0 { // its own comma goes with it
		text := splice(d.text, comma, comma+1, "")
		return dropBlanks(splice(text, from, to, ""), from)
	}
	if i == 0 {
		return dropBlanks(splice(d.text, from, to, ""), from)
	}
	// It is the last, so the comma before it goes.
	comma, _ := d.scan(kids[i-1].end+d.bom, from)
	if d.blank(comma+1, from) {
		return splice(d.text, comma, to, "")
	}
	text := dropBlanks(splice(d.text, from, to, ""), from)
	return splice(text, comma, comma+1, "")
}

func (d *document) blank(from, to int) bool { return len(bytes.TrimSpace(d.text[from:to])) == 0 }

// dropBlanks removes the line at an offset if it is blank now, or else the blanks
// that follow.
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
