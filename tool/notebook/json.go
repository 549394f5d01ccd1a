package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
