// Package awkscript recognises awk programs that only filter text.
//
// It lexes a program and refuses those that could run a program (system, a
// pipe), write a file (print > file), read another file (getline, ARGV), see
// the environment or load code (@). Where awk implementations could split the
// text into tokens differently, it refuses too. It is safe for concurrent use.
package awkscript

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// Check returns nil if the program only filters text.
func Check(program string) error {
	l := &lexer{rest: program}
	for {
		more, err := l.token()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if endless.MatchString(program) {
		return errors.New("the awk program has a loop that may never end")
	}
	if l.unsure && danger.MatchString(program) {
		return errors.New("what looks like a division in the awk program may be a regular expression")
	}
	return nil
}

// forbidden names reach beyond the text that awk is given.
var forbidden = []string{
	"system", "getline", "ENVIRON", "PROCINFO", "ARGV", "ARGC", "SYMTAB", "FUNCTAB", "close", "extension",
	"while", "do", // may never end
}

// danger is what must not hide in a program that we may have misread.
var danger = lazyregexp.New(`[|@>"]|` + strings.Join(forbidden, "|"))

// endless finds for (…;;…).
var endless = lazyregexp.New(`;\s*;`)

// beforeRegexp are the words after which a slash starts a regular expression.
var beforeRegexp = []string{"return", "print", "printf", "in", "case", "else", "exit"}

type lexer struct {
	rest    string
	operand bool // the last token ends an operand: a slash divides
	maybe   bool // the last token may end an operand or not
	unsure  bool // a slash was read that may have been misread
	depth   int  // of brackets
	print   int  // depth of the print statement that is open, plus one
}

var (
	word   = lazyregexp.New(`^[A-Za-z_][A-Za-z_0-9]*`)
	number = lazyregexp.New(`^(0[xX][0-9a-fA-F]+|[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|[0-9]+\.)`)
)

// token reads one token and reports false at the end.
func (l *lexer) token() (bool, error) {
	l.rest = strings.TrimLeft(l.rest, " \t")
	if l.rest == "" {
		return false, nil
	}
	c := l.rest[0]
	if name := word.FindString(l.rest); name != "" {
		return true, l.name(name)
	}
	if n := number.FindString(l.rest); n != "" {
		l.take(len(n), true)
		return true, nil
	}
	switch c {
	case '"':
		return true, l.str()
	case '/':
		return true, l.slash()
	case '#':
		_, after, _ := strings.Cut(l.rest, "\n")
		l.rest = "\n" + after
		if after == "" {
			l.rest = ""
		}
		return true, nil
	case '\\':
		if !strings.HasPrefix(l.rest, "\\\n") {
			return true, errors.New("a stray backslash in the awk program")
		}
		l.rest = l.rest[2:]
		return true, nil
	}
	return true, l.punctuation(c)
}

func (l *lexer) name(name string) error {
	if slices.Contains(forbidden, name) {
		return fmt.Errorf("the awk program uses %s", name)
	}
	if name == "print" || name == "printf" {
		l.print = l.depth + 1
	}
	l.take(len(name), !slices.Contains(beforeRegexp, name))
	l.maybe = name == "length"
	return nil
}

func (l *lexer) take(n int, operand bool) {
	l.rest, l.operand, l.maybe = l.rest[n:], operand, false
}

func (l *lexer) str() error {
	for i := 1; i < len(l.rest); i++ {
		switch l.rest[i] {
		case '\\':
			i++
		case '\n':
			return errors.New("an awk string that spans several lines")
		case '"':
			l.take(i+1, true)
			return nil
		}
	}
	return errors.New("an unterminated awk string")
}

// slash reads a division or a regular expression.
func (l *lexer) slash() error {
	l.unsure = l.unsure || l.maybe
	if l.operand {
		l.take(1, false)
		return nil
	}
	brackets := outside
	for i := 1; i < len(l.rest); i++ {
		switch c := l.rest[i]; {
		case c == '\n':
			return errors.New("an awk regular expression that spans several lines")
		case c == '/':
			if brackets != outside {
				return errors.New("awk implementations read this regular expression differently")
			}
			l.take(i+1, true)
			return nil
		case c == '\\' && i+1 < len(l.rest):
			brackets = brackets.escape(l.rest[i+1])
			i++
		default:
			next := byte(0)
			if i+1 < len(l.rest) {
				next = l.rest[i+1]
			}
			brackets = brackets.step(c, next)
		}
	}
	return errors.New("an unterminated awk regular expression")
}

func (l *lexer) punctuation(c byte) error {
	switch c {
	case '(', '[', '{':
		l.depth++
		l.take(1, false)
	case ')', ']', '}':
		l.depth--
		if l.print > l.depth+1 {
			l.print = 0
		}
		l.take(1, c != '}')
		l.maybe = c == ')'
	case ';', '\n':
		// A line that ends in a comma or an operator continues in the next.
		if l.print == l.depth+1 && (c == ';' || l.operand) {
			l.print = 0
		}
		l.take(1, false)
	case '@':
		return errors.New("the awk program loads code or calls a function by a computed name")
	case '|':
		if !strings.HasPrefix(l.rest, "||") {
			return errors.New("the awk program pipes to or from another program")
		}
		l.take(2, false)
	case '>':
		if l.print == l.depth+1 || strings.HasPrefix(l.rest, ">>") {
			return errors.New("the awk program writes a file")
		}
		l.take(1, false)
	case '+', '-':
		twice := strings.HasPrefix(l.rest, string([]byte{c, c}))
		if !twice {
			l.take(1, false)
			break
		}
		operand := l.operand
		l.take(2, operand)
		l.maybe = true
	default:
		if strings.IndexByte("$!~<=*%^?:,&", c) < 0 {
			return fmt.Errorf("an unexpected %q in the awk program", c)
		}
		l.take(1, false)
	}
	return nil
}
