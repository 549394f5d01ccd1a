package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A table is a TOML table with the values that server entries have: texts,
// numbers, booleans, lists of texts and tables of texts.
type table struct {
	name   string
	values map[string]any
}

func (t *table) text(key string) string    { s, _ := t.values[key].(string); return s }
func (t *table) number(key string) float64 { n, _ := t.values[key].(float64); return n }

func (t *table) list(key string) (texts []string) {
	list, _ := t.values[key].([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}

func (t *table) table(key string) map[string]string {
	members, _ := t.values[key].(map[string]any)
	if len(members) == 0 {
		return nil
	}
	texts := make(map[string]string)
	for name, v := range members {
		if s, ok := v.(string); ok {
			texts[name] = s
		}
	}
	return texts
}

// readTOML reads the tables below one name, such as [mcp_servers.github], and
// skips the rest of the file. It knows as much TOML as such tables are written in.
func readTOML(text, below string) ([]*table, error) {
	p := &tomlReader{text: text}
	var tables []*table
	var into map[string]any
	for {
		p.skipSpace(true)
		if p.done() {
			return tables, nil
		}
		var err error
		switch {
		case p.text[p.at] == '[':
			into, err = p.header(below, &tables)
		default:
			err = p.assign(into)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+strings.Count(p.text[:min(p.at, len(p.text))], "\n"), err)
		}
	}
}

type tomlReader struct {
	text string
	at   int
}

func (p *tomlReader) done() bool { return p.at >= len(p.text) }

func (p *tomlReader) peek() byte {
	if p.done() {
		return 0
	}
	return p.text[p.at]
}

// skipSpace skips blanks and comments, and line ends if lines is set.
func (p *tomlReader) skipSpace(lines bool) {
	for !p.done() {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\r' || lines && c == '\n':
			p.at++
		case c == '#':
			end := strings.IndexByte(p.text[p.at:], '\n')
			if end < 0 {
				p.at = len(p.text)
				return
			}
			p.at += end
		default:
			return
		}
	}
}

// header reads [a.b.c] and returns the map that its values go to; nil if they
// are of no interest.
func (p *tomlReader) header(below string, tables *[]*table) (map[string]any, error) {
	p.at++
	if p.peek() == '[' { // a list of tables holds no server
		end := strings.Index(p.text[p.at:], "]]")
		if end < 0 {
			return nil, errors.New("unterminated header")
		}
		p.at += end + 2
		return nil, nil
	}
	path, err := p.key()
	if err != nil {
		return nil, err
	}
	if p.peek() != ']' {
		return nil, errors.New("unterminated header")
	}
	p.at++
	if len(path) < 2 || path[0] != below {
		return nil, nil
	}
	i := slices.IndexFunc(*tables, func(t *table) bool { return t.name == path[1] })
	if i < 0 {
		i = len(*tables)
		*tables = append(*tables, &table{name: path[1], values: map[string]any{}})
	}
	return within((*tables)[i].values, path[2:]), nil
}

func within(m map[string]any, path []string) map[string]any {
	for _, name := range path {
		next, ok := m[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[name] = next
		}
		m = next
	}
	return m
}

// assign reads key = value into a map, which may be nil.
func (p *tomlReader) assign(into map[string]any) error {
	path, err := p.key()
	if err != nil {
		return err
	}
	if p.peek() != '=' {
		return errors.New("expected NAME = VALUE")
	}
	p.at++
	p.skipSpace(false)
	value, err := p.value(0)
	if err != nil {
		return err
	}
	if into != nil {
		last := len(path) - 1
		within(into, path[:last])[path[last]] = value
	}
	return nil
}

// key reads a dotted name.
func (p *tomlReader) key() ([]string, error) {
	var path []string
	for {
		p.skipSpace(false)
		var part string
		if c := p.peek(); c == '"' || c == '\'' {
			s, err := p.quoted()
			if err != nil {
				return nil, err
			}
			part = s
		} else {
			end := p.at
			for end < len(p.text) && strings.IndexByte(".=] \t\r\n\"'[{}#,", p.text[end]) < 0 {
				end++
			}
			if part, p.at = p.text[p.at:end], end; part == "" {
				return nil, errors.New("expected a name")
			}
		}
		path = append(path, part)
		p.skipSpace(false)
		if p.peek() != '.' {
			return path, nil
		}
		p.at++
	}
}

// maxTOMLDepth bounds lists in lists.
const maxTOMLDepth = 20

func (p *tomlReader) value(depth int) (any, error) {
	if depth > maxTOMLDepth {
		return nil, errors.New("values are nested too deeply")
	}
	switch c := p.peek(); {
	case c == '"' || c == '\'':
		return p.quoted()
	case c == '[':
		return p.array(depth)
	case c == '{':
		return p.inline(depth)
	}
	end := p.at
	for end < len(p.text) && strings.IndexByte(",]}\r\n# \t", p.text[end]) < 0 {
		end++
	}
	word := p.text[p.at:end]
	p.at = end
	switch word {
	case "true", "false":
		return word == "true", nil
	case "":
		return nil, errors.New("a value is missing")
	}
	if n, err := strconv.ParseFloat(strings.ReplaceAll(word, "_", ""), 64); err == nil {
		return n, nil
	}
	return word, nil // a date, for one: nothing that an entry has
}

func (p *tomlReader) array(depth int) (any, error) {
	list := []any{}
	for p.at++; ; {
		p.skipSpace(true)
		switch p.peek() {
		case 0:
			return nil, errors.New("unterminated list")
		case ']':
			p.at++
			return list, nil
		case ',':
			p.at++
			continue
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

func (p *tomlReader) inline(depth int) (any, error) {
	members := map[string]any{}
	for p.at++; ; {
		p.skipSpace(true)
		switch p.peek() {
		case 0:
			return nil, errors.New("unterminated table")
		case '}':
			p.at++
			return members, nil
		case ',':
			p.at++
			continue
		}
		if depth > maxTOMLDepth {
			return nil, errors.New("values are nested too deeply")
		}
		path, err := p.key()
		if err != nil {
			return nil, err
		}
		if p.peek() != '=' {
			return nil, errors.New("expected NAME = VALUE")
		}
		p.at++
		p.skipSpace(false)
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		last := len(path) - 1
		within(members, path[:last])[path[last]] = v
	}
}

// quoted reads a text in either kind of quotes, of one line or of many.
func (p *tomlReader) quoted() (string, error) {
	quote := p.text[p.at : p.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(p.text[p.at:], triple) {
		rest := p.text[p.at+3:]
		end := strings.Index(rest, triple)
		if end < 0 {
			return "", errors.New("unterminated string")
		}
		p.at += 6 + end
		return strings.TrimPrefix(rest[:end], "\n"), nil
	}
	for end := p.at + 1; end < len(p.text); end++ {
		switch c := p.text[end]; {
		case c == '\n':
			return "", errors.New("unterminated string")
		case c == '\\' && quote == `"`:
			end++
		case c == quote[0]:
			raw := p.text[p.at : end+1]
			p.at = end + 1
			if quote == "'" {
				return raw[1 : len(raw)-1], nil
			}
			s, err := strconv.Unquote(raw)
			if err != nil {
				return "", fmt.Errorf("could not read the string %s", raw)
			}
			return s, nil
		}
	}
	return "", errors.New("unterminated string")
}
