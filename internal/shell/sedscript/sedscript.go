// Package sedscript recognises sed scripts that only filter text.
//
// It parses the subset of sed in which no command writes a file (w, W and the
// w flag of s), runs a program (e and the e flag) or reads another file (r, R).
// What it cannot parse, and what sed implementations read differently, it
// refuses. It is safe for concurrent use.
package sedscript

import (
	"errors"
	"fmt"
	"strings"
)

// Check returns nil if the script, the value of one -e or the first operand,
// only filters text.
func Check(script string) error {
	p := &parser{rest: script}
	for {
		p.skip(" \t\n;")
		if p.rest == "" {
			return nil
		}
		if err := p.command(); err != nil {
			return err
		}
	}
}

type parser struct{ rest string }

var (
	errEnd    = errors.New("the script ends too early")
	errText   = errors.New("sed implementations read this text differently")
	errRegexp = errors.New("sed implementations read this regular expression differently")
)

// simple commands take no argument and only act on the text.
const simple = "=dDgGhHnNpPxzF{}"

func (p *parser) command() error {
	if p.rest[0] == '#' {
		_, p.rest, _ = strings.Cut(p.rest, "\n")
		return nil
	}
	if err := p.addresses(); err != nil {
		return err
	}
	if p.rest == "" {
		return errEnd
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	switch {
	case c == '{':
		return nil
	case strings.IndexByte(simple, c) >= 0:
		return p.end()
	case strings.IndexByte("qQlL", c) >= 0:
		p.skip(" \t")
		p.skip("0123456789")
		return p.end()
	case strings.IndexByte("btT:", c) >= 0:
		p.skip(" \t")
		p.skip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
		return p.end()
	case strings.IndexByte("aic", c) >= 0:
		return p.text()
	case c == 's':
		return p.substitute()
	case c == 'y':
		return p.transliterate()
	}
	return fmt.Errorf("the sed command %q does more than filter", c)
}

// addresses reads "1,/x/!" and the like.
func (p *parser) addresses() error {
	if err := p.address(); err != nil {
		return err
	}
	p.skip(" \t")
	if strings.HasPrefix(p.rest, ",") {
		p.rest = p.rest[1:]
		p.skip(" \t")
		if strings.HasPrefix(p.rest, "+") || strings.HasPrefix(p.rest, "~") {
			p.rest = p.rest[1:]
		}
		if err := p.address(); err != nil {
			return err
		}
	}
	p.skip(" \t!")
	return nil
}

func (p *parser) address() error {
	if p.rest == "" {
		return errEnd
	}
	switch c := p.rest[0]; {
	case c == '$':
		p.rest = p.rest[1:]
	case c >= '0' && c <= '9':
		p.skip("0123456789")
		if strings.HasPrefix(p.rest, "~") {
			p.rest = p.rest[1:]
			p.skip("0123456789")
		}
	case c == '/':
		return p.addressRegexp(1)
	case c == '\\':
		return p.addressRegexp(2)
	}
	return nil
}

// addressRegexp reads a regular expression whose delimiter is at n-1.
func (p *parser) addressRegexp(n int) error {
	if len(p.rest) < n {
		return errEnd
	}
	delim := p.rest[n-1]
	p.rest = p.rest[n:]
	if err := p.until(delim, true); err != nil {
		return err
	}
	p.skip("IM")
	return nil
}

func (p *parser) substitute() error {
	if err := p.halves(true); err != nil {
		return err
	}
	p.skip("gpiImM0123456789")
	return p.end()
}

func (p *parser) transliterate() error {
	if err := p.halves(false); err != nil {
		return err
	}
	return p.end()
}

// halves reads /x/y/ with any delimiter.
func (p *parser) halves(isRegexp bool) error {
	if p.rest == "" {
		return errEnd
	}
	delim := p.rest[0]
	p.rest = p.rest[1:]
	if err := p.until(delim, isRegexp); err != nil {
		return err
	}
	return p.until(delim, false)
}

// until reads up to the delimiter and takes it.
func (p *parser) until(delim byte, isRegexp bool) error {
	if delim == '\n' || delim == '\\' || delim >= 0x80 || delim == '[' || delim == ']' {
		return errRegexp
	}
	bracket := false
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == delim:
			if bracket {
				return errRegexp
			}
			p.rest = p.rest[i+1:]
			return nil
		case c == '\n':
			return errRegexp
		case c == '\\':
			// Inside brackets a backslash is a plain character to some seds.
			if bracket && i+1 < len(p.rest) && strings.IndexByte("]"+string(delim), p.rest[i+1]) >= 0 {
				return errRegexp
			}
			i++
		case isRegexp && !bracket && c == '[':
			bracket = true
			// A bracket that comes first is a member, not the end.
			if strings.HasPrefix(p.rest[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(p.rest[i+1:], "]") {
				i++
			}
		case bracket && c == '[' && i+1 < len(p.rest) && strings.IndexByte(":.=", p.rest[i+1]) >= 0:
			end := strings.Index(p.rest[i+2:], p.rest[i+1:i+2]+"]")
			if end < 0 || strings.IndexByte(p.rest[i+2:i+2+end], delim) >= 0 {
				return errRegexp
			}
			i += end + 3
		case bracket && c == ']':
			bracket = false
		}
	}
	return errEnd
}

// text reads the argument of a, i or c: the rest of the line and every line
// after one that ends in a backslash. Of two backslashes one escapes the other
// and the text ends; of the one after the command and another at the end of
// the line seds differ. Both are refused.
func (p *parser) text() error {
	p.skip(" \t")
	opened := strings.HasPrefix(p.rest, `\`) && !strings.HasPrefix(p.rest, "\\\n")
	for {
		line, rest, more := strings.Cut(p.rest, "\n")
		p.rest = rest
		if !strings.HasSuffix(line, `\`) {
			return nil
		}
		if strings.HasSuffix(line, `\\`) || opened {
			return errText
		}
		if !more {
			return errEnd // the next -e would be the text
		}
	}
}

// end requires the end of a command.
func (p *parser) end() error {
	p.skip(" \t")
	if p.rest == "" || strings.IndexByte(";\n}#", p.rest[0]) >= 0 {
		return nil
	}
	return fmt.Errorf("unexpected %q after a sed command", p.rest)
}

func (p *parser) skip(chars string) { p.rest = strings.TrimLeft(p.rest, chars) }
