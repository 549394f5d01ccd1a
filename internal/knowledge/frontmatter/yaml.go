package frontmatter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// maxBrackets is more than fields need: deep nesting takes the parser long.
const maxBrackets = 500

// decode returns the fields by their folded names. If YAML refuses the whole, each
// field is read by itself, and as text if YAML refuses it alone.
func decode(matter string) (values map[string]any, guessed []string, err error) {
	if strings.Count(matter, "[")+strings.Count(matter, "{") > maxBrackets {
		return nil, nil, fmt.Errorf("it has more than %d brackets", maxBrackets)
	}
	values = map[string]any{}
	whole, err := unmarshal(matter)
	if err == nil {
		for name, v := range whole {
			values[fold(name)] = v
		}
		return values, nil, nil
	}
	entries := split(matter)
	if len(entries) == 0 {
		return nil, nil, errors.New("it has no line of the form name: value")
	}
	for _, e := range entries {
		one, err := unmarshal(e.text)
		if v, ok := one[e.name]; err == nil && ok {
			values[fold(e.name)] = v
			continue
		}
		values[fold(e.name)] = e.plain()
		guessed = append(guessed, e.name)
	}
	return values, guessed, nil
}

var errAlias = errors.New("it uses aliases, which are not allowed because they could make it grow without bound")

// unmarshal reads a mapping. Aliases are refused: what they stand for can be made
// to double with every line.
func unmarshal(text string) (values map[string]any, err error) {
	defer func() {
		// The text is a stranger's, and the parser is not ours.
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be parsed: %v", p)
		}
	}()
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, err
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if len(ast.Filter(ast.AliasType, doc.Body)) > 0 {
			return nil, errAlias
		}
		err := yaml.NodeToValue(doc.Body, &values)
		return values, err
	}
	return nil, nil
}

// An entry is one field with the lines that belong to it.
type entry struct{ name, text string }

var entryStart = lazyregexp.New(`^["']?([A-Za-z_][\w-]*)["']?[ \t]*:(?:[ \t]|$)`)

func split(matter string) []entry {
	var entries []entry
	for line := range strings.Lines(matter) {
		if m := entryStart.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			entries = append(entries, entry{name: m[1]})
		}
		if n := len(entries); n > 0 {
			entries[n-1].text += line
		}
	}
	return entries
}

// plain is the entry's value as the text that it is, on one line.
func (e entry) plain() string {
	_, value, _ := strings.Cut(e.text, ":")
	return strings.Join(strings.Fields(value), " ")
}
