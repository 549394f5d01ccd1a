// Package frontmatter reads Markdown files that begin with fields in YAML between
// two lines of three dashes.
//
//	doc, err := frontmatter.Parse(text)
//	doc.Fields.Text("description")
//	doc.Fields.List("allowed-tools")   // Read, Bash(git diff:*), …
//
// People write such fields without thinking of YAML: "description: Use when: x" is
// an error there, and plainly means something. Fields that YAML refuses are taken
// as the text that they are, and the document says which.
//
// Documents are values, safe for concurrent use. What is not a document costs
// nothing: YAML is read only if the dashes are there.
package frontmatter

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// A Document is a file in its parts.
type Document struct {
	Fields Fields
	// Body is what follows the front matter; all of the text if there is none.
	Body string
	// Guessed are the names of fields that are no YAML and were taken as text.
	Guessed []string
}

// maxSize is more than fields need, in bytes. YAML takes time that grows faster
// than its text.
const maxSize = 16 << 10

// Parse reads a text with plain newlines. The body is good even if there is an
// error.
func Parse(text string) (Document, error) {
	rest, ok := cutLine(text, "---")
	if !ok {
		return Document{Body: text}, nil
	}
	matter, body, ok := cutMatter(rest)
	if !ok {
		return Document{Body: text}, errors.New("the front matter has no end: a line of three dashes is missing")
	}
	doc := Document{Body: body}
	if len(matter) > maxSize {
		return doc, fmt.Errorf("the front matter is too long: %d bytes; the limit is %d", len(matter), maxSize)
	}
	values, guessed, err := decode(matter)
	if err != nil {
		return doc, fmt.Errorf("the front matter is invalid: %w", err)
	}
	doc.Fields, doc.Guessed = Fields{values}, guessed
	return doc, nil
}

// cutLine takes a line off the beginning of a text.
func cutLine(text, line string) (rest string, ok bool) {
	first, rest, more := strings.Cut(text, "\n")
	return rest, more && strings.TrimRight(first, " \t") == line
}

// cutMatter splits what follows the first dashes.
func cutMatter(text string) (matter, body string, ok bool) {
	for at := 0; at < len(text); {
		line, _, more := strings.Cut(text[at:], "\n")
		end := at + len(line)
		if more {
			end++
		}
		if strings.TrimRight(line, " \t") == "---" {
			return text[:at], strings.TrimLeft(text[end:], "\n"), true
		}
		at = end
	}
	return "", "", false
}

// Fields are what the front matter says. Names are compared without case, dashes
// and underscores: allowed-tools, allowed_tools and allowedTools are one.
type Fields struct {
	values map[string]any // by folded name
}

func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Has reports whether a field is set to something.
func (f Fields) Has(name string) bool { return f.values[fold(name)] != nil }

// Text returns a field as text; "" if it is not there or is no text.
func (f Fields) Text(name string) string { return strings.TrimSpace(text(f.values[fold(name)])) }

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v)
	}
	return ""
}

// Hint returns what a command's arguments are, for users. It is usually in brackets, by
// which YAML means a list.
func (f Fields) Hint() string {
	const name = "argument-hint"
	if text := f.Text(name); text != "" {
		return text
	}
	if list := f.List(name); len(list) > 0 {
		return "[" + strings.Join(list, ", ") + "]"
	}
	return ""
}

// List returns a field as a list. Text is split at commas and blanks that stand
// in no parentheses, so that "Read, Bash(git add *)" has two entries.
func (f Fields) List(name string) []string {
	switch v := f.values[fold(name)].(type) {
	case []any:
		var list []string
		for _, e := range v {
			if t := strings.TrimSpace(text(e)); t != "" {
				list = append(list, t)
			}
		}
		return list
	case string:
		return splitList(v)
	default:
		return splitList(text(v))
	}
}

// splitList splits a list that is written as text; nil if there is nothing in it.
func splitList(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(0, depth-1)
		}
		return depth == 0 && strings.ContainsRune(", \t\n", r)
	})
}

// Flag returns a field that says yes or no; unset is what it means if it says
// neither.
func (f Fields) Flag(name string, unset bool) bool {
	switch strings.ToLower(f.Text(name)) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	}
	return unset
}

// JSON returns a field as JSON, whatever it is.
func (f Fields) JSON(name string) (json.RawMessage, error) { return json.Marshal(f.values[fold(name)]) }

// Number returns a field as a whole number; 0 if it is none.
func (f Fields) Number(name string) int {
	n, err := strconv.Atoi(f.Text(name))
	if err != nil {
		return 0
	}
	return n
}
