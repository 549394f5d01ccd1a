package notebook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
)

// span is where a value is in the text.
type span struct{ start, end int }

// field is a member of an object, with its value.
type field struct {
	key   string
	value span
}

// notebook is a notebook taken apart, with the places of what may change.
type notebook struct {
	text     []byte
	unit     string // one step of indentation; "" when the file is on one line
	colon    string // between a key and its value
	array    span   // of cells, brackets included
	cells    []cell
	ids      bool // cells have ids of their own
	language string
}

type cell struct {
	span
	fields []field
	id     string
	typ    string
	source string
}

// parse takes a notebook of format 4 apart.
func parse(text []byte) (*notebook, error) {
	var meta struct {
		Format   int `json:"nbformat"`
		Minor    int `json:"nbformat_minor"`
		Metadata struct {
			Language struct {
				Name string `json:"name"`
			} `json:"language_info"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return nil, err
	}
	if meta.Format != 4 {
		return nil, fmt.Errorf("its nbformat is %d", meta.Format)
	}
	nb := &notebook{text: text, ids: meta.Minor >= 5, language: meta.Metadata.Language.Name, colon: ": "}
	top := members(text, skipSpace(text, 0))
	for _, f := range top {
		if f.key == "cells" && text[f.value.start] == '[' {
			nb.array = f.value
		}
	}
	if nb.array.end == 0 {
		return nil, errors.New("it has no cells array")
	}
	first := skipSpace(text, 0) + 1
	if gap := string(text[first:skipSpace(text, first)]); strings.Contains(gap, "\n") {
		nb.unit = gap[strings.LastIndexByte(gap, '\n')+1:]
	}
	if v := top[0].value.start; text[v-1] == ':' {
		nb.colon = ":"
	}
	for i, e := range elements(text, nb.array.start) {
		c, err := nb.cell(e, i)
		if err != nil {
			return nil, err
		}
		nb.cells = append(nb.cells, c)
	}
	return nb, nil
}

func (nb *notebook) cell(at span, i int) (cell, error) {
	var v struct {
		ID     string          `json:"id"`
		Type   string          `json:"cell_type"`
		Source json.RawMessage `json:"source"`
	}
	if err := json.Unmarshal(nb.text[at.start:at.end], &v); err != nil {
		return cell{}, fmt.Errorf("cell %d: %w", i, err)
	}
	c := cell{span: at, id: v.ID, typ: v.Type, fields: members(nb.text, at.start)}
	var lines []string
	if json.Unmarshal(v.Source, &lines) == nil {
		c.source = strings.Join(lines, "")
	} else if err := json.Unmarshal(v.Source, &c.source); err != nil {
		return cell{}, fmt.Errorf("cell %d: its source is not text", i)
	}
	if c.id == "" {
		c.id = fmt.Sprintf("cell-%d", i)
	}
	return c, nil
}

// edit plans a change. newID is the id of a cell that is to be inserted.
func (nb *notebook) edit(in callInput, newID string) (cellEdit, error) {
	if mode(in) == "insert" && (in.CellID == "" || in.CellID == "top") {
		return nb.insert(in, -1, newID), nil
	}
	at := slices.IndexFunc(nb.cells, func(c cell) bool { return c.id == in.CellID })
	if at < 0 {
		return cellEdit{}, tool.Errorf("There is no cell %q. %s", in.CellID, nb.listCells())
	}
	switch mode(in) {
	case "insert":
		return nb.insert(in, at, newID), nil
	case "delete":
		return nb.remove(at), nil
	}
	if in.CellType != "" && in.CellType != nb.cells[at].typ {
		return nb.retype(in, at), nil
	}
	return nb.replace(in, at)
}

func (nb *notebook) listCells() string {
	if len(nb.cells) == 0 {
		return `The notebook has no cells; insert one without cell_id.`
	}
	const most = 30
	var ids []string
	for _, c := range nb.cells[:min(len(nb.cells), most)] {
		ids = append(ids, c.id)
	}
	list := "Its cells are: " + strings.Join(ids, ", ")
	if len(nb.cells) > most {
		list += fmt.Sprintf(", and %d more", len(nb.cells)-most)
	}
	return list + "."
}

// about fills in what is known about a cell.
func (nb *notebook) about(e cellEdit, id, typ string) cellEdit {
	e.id, e.cellType = id, typ
	if typ == "code" {
		e.language = nb.language
	}
	return e
}

// replace changes the source, and clears what the old source had put out.
func (nb *notebook) replace(in callInput, at int) (cellEdit, error) {
	c := nb.cells[at]
	e := cellEdit{oldSource: c.source}
	found := false
	for _, f := range c.fields {
		old := nb.text[f.value.start:f.value.end]
		new := string(old)
		switch {
		case f.key == "source" && in.NewSource != c.source:
			new = nb.source(in.NewSource, old[0] == '[', nb.indentOf(f.value.start))
			found = true
		case f.key == "source":
			found = true
		case f.key == "outputs" && c.typ == "code" && in.NewSource != c.source:
			new = "[]"
		case f.key == "execution_count" && c.typ == "code" && in.NewSource != c.source:
			new = "null"
		}
		if !bytes.Equal(old, []byte(new)) {
			e.splices = append(e.splices, textfile.Splice{Start: f.value.start, End: f.value.end, New: new})
		}
	}
	if !found {
		return cellEdit{}, tool.Errorf("The cell has no source field.")
	}
	return nb.about(e, c.id, c.typ), nil
}

// retype writes the cell again as another type. Fields that only one type has come or go; all others stay.
func (nb *notebook) retype(in callInput, at int) cellEdit {
	c := nb.cells[at]
	indent := nb.indentOf(c.start)
	var out []string
	for _, f := range c.fields {
		value := string(nb.text[f.value.start:f.value.end])
		switch f.key {
		case "cell_type":
			value = quote(in.CellType)
		case "source":
			value = nb.source(in.NewSource, value[0] == '[', indent+nb.unit)
		case "outputs", "execution_count":
			continue
		}
		out = append(out, quote(f.key)+nb.colon+value)
	}
	if in.CellType == "code" {
		out = append(out, `"execution_count"`+nb.colon+"null", `"outputs"`+nb.colon+"[]")
	}
	e := cellEdit{oldSource: c.source, splices: []textfile.Splice{{Start: c.start, End: c.end, New: nb.object(out, indent)}}}
	return nb.about(e, c.id, in.CellType)
}

// insert adds a cell after the one at index at, or before all.
func (nb *notebook) insert(in callInput, at int, id string) cellEdit {
	indent := nb.unit + nb.unit
	if len(nb.cells) > 0 {
		indent = nb.indentOf(nb.cells[0].start)
	}
	fields := []string{`"cell_type"` + nb.colon + quote(in.CellType)}
	if in.CellType == "code" {
		fields = append(fields, `"execution_count"`+nb.colon+"null")
	}
	if nb.ids {
		fields = append(fields, `"id"`+nb.colon+quote(id))
	} else {
		id = fmt.Sprintf("cell-%d", at+1)
	}
	fields = append(fields, `"metadata"`+nb.colon+"{}")
	if in.CellType == "code" {
		fields = append(fields, `"outputs"`+nb.colon+"[]")
	}
	fields = append(fields, `"source"`+nb.colon+nb.source(in.NewSource, true, indent+nb.unit))
	object := nb.object(fields, indent)

	s := textfile.Splice{}
	switch {
	case len(nb.cells) == 0:
		s = textfile.Splice{Start: nb.array.start, End: nb.array.end, New: "[" + nb.newline(indent) + object + nb.newline(nb.unit) + "]"}
	case at < 0:
		first := nb.cells[0].start
		s = textfile.Splice{Start: first, End: first, New: object + "," + nb.gap(indent)}
	default:
		end := nb.cells[at].end
		s = textfile.Splice{Start: end, End: end, New: "," + nb.gap(indent) + object}
	}
	return nb.about(cellEdit{splices: []textfile.Splice{s}}, id, in.CellType)
}

// remove takes out a cell and the comma that it no longer needs.
func (nb *notebook) remove(at int) cellEdit {
	c := nb.cells[at]
	cut := textfile.Splice{Start: c.start, End: c.end}
	switch {
	case len(nb.cells) == 1:
		cut = textfile.Splice{Start: nb.array.start, End: nb.array.end, New: "[]"}
	case at == len(nb.cells)-1:
		cut.Start = nb.cells[at-1].end
	default:
		cut.End = nb.cells[at+1].start
	}
	return nb.about(cellEdit{oldSource: c.source, splices: []textfile.Splice{cut}}, c.id, c.typ)
}

// source writes a cell's source, as an array of lines or as one string.
func (nb *notebook) source(s string, array bool, indent string) string {
	if !array {
		return quote(s)
	}
	var lines []string
	for l := range strings.SplitAfterSeq(s, "\n") {
		if l != "" {
			lines = append(lines, quote(l))
		}
	}
	if len(lines) == 0 {
		return "[]"
	}
	inner := nb.newline(indent + nb.unit)
	return "[" + inner + strings.Join(lines, ","+nb.gap(indent+nb.unit)) + nb.newline(indent) + "]"
}

func (nb *notebook) object(fields []string, indent string) string {
	return "{" + nb.newline(indent+nb.unit) + strings.Join(fields, ","+nb.gap(indent+nb.unit)) + nb.newline(indent) + "}"
}

// newline begins a line in a file that has lines.
func (nb *notebook) newline(indent string) string {
	if nb.unit == "" {
		return ""
	}
	return "\n" + indent
}

// gap is what stands after a comma.
func (nb *notebook) gap(indent string) string {
	if nb.unit == "" {
		return strings.Repeat(" ", len(nb.colon)-1)
	}
	return "\n" + indent
}

// indentOf returns the indentation of the line that holds offset i.
func (nb *notebook) indentOf(i int) string {
	start := bytes.LastIndexByte(nb.text[:i], '\n') + 1
	end := start
	for end < i && (nb.text[end] == ' ' || nb.text[end] == '\t') {
		end++
	}
	return string(nb.text[start:end])
}

// newID makes an id for a new cell, in the form that notebooks use. It comes from the call, so that the cell which is shown
// before it is inserted is the cell which is inserted.
func (nb *notebook) newID(c *tool.Call, in callInput) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %d", c.ID, c.UseID, in.CellID, in.NewSource, n))
		id := hex.EncodeToString(sum[:4])
		if !slices.ContainsFunc(nb.cells, func(c cell) bool { return c.id == id }) {
			return id
		}
	}
}

// quote writes a JSON string as notebooks do: characters beyond ASCII as they are, no escapes for HTML.
func quote(s string) string {
	raw, _ := plainjson.Marshal(s) // strings encode
	return string(raw)
}

// members returns the fields of the object at i. The text is valid JSON, which makes taking it apart simple.
func members(b []byte, i int) []field {
	var out []field
	for i = skipSpace(b, i+1); b[i] != '}'; {
		end := skipValue(b, i)
		var key string
		_ = json.Unmarshal(b[i:end], &key) // valid, as said
		start := skipSpace(b, skipSpace(b, end)+1)
		end = skipValue(b, start)
		out = append(out, field{key, span{start, end}})
		if i = skipSpace(b, end); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return out
}

// elements returns the values of the array at i.
func elements(b []byte, i int) []span {
	var out []span
	for i = skipSpace(b, i+1); b[i] != ']'; {
		end := skipValue(b, i)
		out = append(out, span{i, end})
		if i = skipSpace(b, end); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return out
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the value at i.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for ; ; i++ {
			switch b[i] {
			case '"':
				i = skipString(b, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(b) && !strings.ContainsRune(",]} \t\r\n", rune(b[i])) {
		i++
	}
	return i
}

func skipString(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}
