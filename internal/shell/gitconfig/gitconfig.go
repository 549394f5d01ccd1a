// Package gitconfig reads git's configuration files without running git.
//
// Parse returns what a file says, in order; it follows no include. It accepts
// what git accepts and reports everything else as an error, so that a caller
// who must know every setting can be careful. It is safe for concurrent use.
package gitconfig

import (
	"fmt"
	"strings"
)

// An Entry is one setting.
type Entry struct {
	Key   string // section.name or section.subsection.name; section and name in lower case
	Value string // "true" for a name without a value
}

// Parse reads a configuration file.
func Parse(text string) ([]Entry, error) {
	p := &parser{rest: strings.TrimPrefix(text, "\ufeff"), line: 1}
	for {
		p.blanks()
		if p.rest == "" {
			return p.entries, nil
		}
		if err := p.item(); err != nil {
			return p.entries, fmt.Errorf("git configuration, line %d: %w", p.line, err)
		}
	}
}

type parser struct {
	rest    string
	line    int
	section string
	entries []Entry
}

// next takes one character, joining CR LF.
func (p *parser) next() byte {
	if strings.HasPrefix(p.rest, "\r\n") {
		p.rest = p.rest[1:]
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	if c == '\n' {
		p.line++
	}
	return c
}

// blanks skips white space and comments.
func (p *parser) blanks() {
	for p.rest != "" {
		switch p.rest[0] {
		case ' ', '\t', '\r', '\n', '\v', '\f':
			p.next()
		case '#', ';':
			for p.rest != "" && p.next() != '\n' {
			}
		default:
			return
		}
	}
}

func (p *parser) item() error {
	if p.rest[0] == '[' {
		p.next()
		return p.header()
	}
	name := p.take(func(c byte) bool { return isAlnum(c) || c == '-' })
	if name == "" {
		return fmt.Errorf("unexpected %q", p.rest[0])
	}
	if p.section == "" {
		return fmt.Errorf("a setting outside a section")
	}
	p.take(func(c byte) bool { return c == ' ' || c == '\t' })
	value := "true"
	if p.rest != "" && p.rest[0] == '=' {
		p.next()
		var err error
		if value, err = p.value(); err != nil {
			return err
		}
	} else if p.rest != "" && strings.IndexByte("\r\n#;", p.rest[0]) < 0 {
		return fmt.Errorf("unexpected %q after a name", p.rest[0])
	}
	p.entries = append(p.entries, Entry{p.section + "." + strings.ToLower(name), value})
	return nil
}

// header reads [section "subsection"] after its bracket.
func (p *parser) header() error {
	section := strings.ToLower(p.take(func(c byte) bool { return isAlnum(c) || c == '-' || c == '.' }))
	if section == "" {
		return fmt.Errorf("a section without a name")
	}
	p.take(func(c byte) bool { return c == ' ' || c == '\t' })
	if p.rest != "" && p.rest[0] == '"' {
		p.next()
		sub, err := p.subsection()
		if err != nil {
			return err
		}
		section += "." + sub
	}
	if p.rest == "" || p.next() != ']' {
		return fmt.Errorf("an unterminated section header")
	}
	p.section = section
	return nil
}

func (p *parser) subsection() (string, error) {
	var b strings.Builder
	for p.rest != "" {
		c := p.next()
		switch {
		case c == '"':
			return b.String(), nil
		case c == '\n':
			return "", fmt.Errorf("a subsection name that spans several lines")
		case c == '\\' && p.rest != "":
			b.WriteByte(p.next())
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("an unterminated subsection name")
}

// value reads to the end of the line, or of the lines that a backslash joins.
func (p *parser) value() (string, error) {
	var b strings.Builder
	quoted, keep := false, 0 // keep: up to here trailing blanks are quoted
	p.take(func(c byte) bool { return c == ' ' || c == '\t' })
	for p.rest != "" {
		c := p.next()
		switch {
		case c == '\n':
			if quoted {
				return "", fmt.Errorf("a quoted value that spans several lines")
			}
			return trimEnd(b.String(), keep), nil
		case !quoted && (c == '#' || c == ';'):
			for p.rest != "" && p.next() != '\n' {
			}
			return trimEnd(b.String(), keep), nil
		case c == '"':
			quoted = !quoted
			keep = b.Len()
		case c == '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
			keep = b.Len()
		default:
			b.WriteByte(c)
			if quoted {
				keep = b.Len()
			}
		}
	}
	if quoted {
		return "", fmt.Errorf("an unterminated quoted value")
	}
	return trimEnd(b.String(), keep), nil
}

func (p *parser) escape(b *strings.Builder) error {
	if p.rest == "" {
		return nil
	}
	switch c := p.next(); c {
	case '\n':
	case 't':
		b.WriteByte('\t')
	case 'n':
		b.WriteByte('\n')
	case 'b':
		b.WriteByte('\b')
	case '"', '\\':
		b.WriteByte(c)
	default:
		return fmt.Errorf("an unknown escape \\%c", c)
	}
	return nil
}

// trimEnd drops blanks at the end of s that are not before keep.
func trimEnd(s string, keep int) string {
	return s[:keep] + strings.TrimRight(s[keep:], " \t\r")
}

func (p *parser) take(want func(byte) bool) string {
	n := 0
	for n < len(p.rest) && want(p.rest[n]) {
		n++
	}
	s := p.rest[:n]
	p.rest = p.rest[n:]
	return s
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
