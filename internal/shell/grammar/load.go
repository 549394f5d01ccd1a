package grammar

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed data/*.txt
var files embed.FS

// An Example is a command of a grammar file that must fit it, or must not.
type Example struct {
	File    string
	Command string
	Match   bool
}

// A Table holds the grammars of all programs.
type Table struct {
	specs    map[string]*spec
	Examples []Example
}

// Knows reports whether there is a grammar of the program.
func (t *Table) Knows(name string) bool { return t.specs[name] != nil }

// ReadsFiles reports whether operands of the program name files.
func (t *Table) ReadsFiles(name string) bool {
	s := t.specs[name]
	return s != nil && slices.ContainsFunc(s.forms, func(f *form) bool {
		return slices.ContainsFunc(f.operands, func(o operand) bool { return o.kind.path })
	})
}

// Joins reports whether the program compares a file with the one of the same name in a directory.
func (t *Table) Joins(name string) bool {
	s := t.specs[name]
	return s != nil && slices.ContainsFunc(s.forms, func(f *form) bool { return f.marks.joins })
}

// Check returns what a command does if its grammar shows that it only reads,
// and otherwise why not. The first word is the bare name of the program.
func (t *Table) Check(words []Word) (Use, error) {
	if len(words) == 0 || !words[0].Known() {
		return Use{}, errors.New("the program's name is not known before it runs")
	}
	s := t.specs[words[0].Value]
	if s == nil || s.wrap != nil && len(s.forms) == 0 {
		return Use{}, fmt.Errorf("%s is not known to be read-only", words[0].Value)
	}
	return s.check(words[0].Value, words[1:], marks{})
}

// Peel takes the wrapper off a command such as "timeout 5 ls". Of a wrapper
// whose flags it does not understand it takes off the name and all that looks
// like a flag, which is good enough for rules that deny. It reports false if
// the command is no wrapper or wraps nothing.
func (t *Table) Peel(words []Word) (Peeled, bool) {
	if len(words) < 2 || !words[0].Known() {
		return Peeled{}, false
	}
	s, args := t.specs[words[0].Value], words[1:]
	for s != nil && s.wrap == nil && len(s.subs) > 0 && len(args) > 0 && args[0].Known() {
		s, args = s.subs[args[0].Value], args[1:]
	}
	if s == nil || s.wrap == nil {
		return Peeled{}, false
	}
	front := &form{flags: s.flags, style: posix, number: true}
	n, err := front.flagsLen(args)
	p := Peeled{Allow: s.wrap.allow, Exact: err == nil}
	if err != nil {
		n = guessFlags(s, args)
	}
	for i := n; i < n+s.wrap.skip && i < len(args); i++ {
		p.Exact = p.Exact && args[i].Known() // or it may become the program as well
	}
	n += s.wrap.skip
	for !s.wrap.allow && n < len(args) && (isAssignment(args[n].Value) || args[n].Value == "--") {
		n++
	}
	if n >= len(args) {
		return Peeled{}, false
	}
	p.Words = args[n:]
	return p, true
}

// guessFlags skips what looks like flags and the values of those it knows.
func guessFlags(s *spec, args []Word) int {
	n := 0
	for n < len(args) && strings.HasPrefix(args[n].Value, "-") {
		f, ok := s.flags[args[n].Value]
		n++
		if ok && f.arity == required {
			n++
		}
	}
	return n
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// Builtin returns the embedded grammars. It panics if they do not parse,
// which a test excludes.
var Builtin = sync.OnceValue(func() *Table {
	t, err := load(files, "data")
	if err != nil {
		panic(err)
	}
	return t
})

func load(fsys fs.FS, dir string) (*Table, error) {
	t := &Table{specs: map[string]*spec{}}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("read grammars: %w", err)
	}
	for _, entry := range entries {
		data, err := fs.ReadFile(fsys, path.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read grammar: %w", err)
		}
		p := &parser{table: t, file: entry.Name(), sets: map[string]*form{}}
		if err := p.parse(string(data)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// A parser reads one grammar file.
type parser struct {
	table *Table
	file  string
	root  *spec
	node  *spec            // of the current sub, or root
	base  *form            // what all forms of node share
	form  *form            // the current form, nil before the first
	sets  map[string]*form // by name
	set   *form            // the current set, nil outside
	names []string
}

func (p *parser) parse(text string) error {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if err := p.line(word, strings.TrimSpace(rest)); err != nil {
			return fmt.Errorf("grammar %s:%d: %w", p.file, i+1, err)
		}
	}
	if p.root == nil {
		return fmt.Errorf("grammar %s: no command", p.file)
	}
	p.endNode()
	for _, name := range p.names {
		if p.table.specs[name] != nil {
			return fmt.Errorf("grammar %s: %s has two grammars", p.file, name)
		}
		p.table.specs[name] = p.root
	}
	return nil
}

func (p *parser) line(word, rest string) error {
	switch word {
	case "command":
		p.names = strings.Fields(rest)
		p.root = &spec{subs: map[string]*spec{}}
		p.startNode(p.root)
		return nil
	case "match", "not-match":
		p.table.Examples = append(p.table.Examples, Example{p.file, rest, word == "match"})
		return nil
	}
	if p.root == nil {
		return fmt.Errorf("%q before command", word)
	}
	switch word {
	case "sub":
		p.endNode()
		return p.startSub(strings.Fields(rest))
	case "form":
		p.form = &form{flags: map[string]flag{}}
		p.node.forms = append(p.node.forms, p.form)
		p.set = nil
	case "set":
		p.set = &form{flags: map[string]flag{}}
		p.sets[rest] = p.set
	case "wraps":
		return p.wraps(rest)
	default:
		return p.detail(p.current(), word, rest)
	}
	return nil
}

func (p *parser) startNode(n *spec) {
	p.node, p.base, p.form, p.set = n, &form{flags: map[string]flag{}}, nil, nil
}

// startSub goes to the subcommand, creating those on the way.
func (p *parser) startSub(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("sub without a name")
	}
	n := p.root
	for _, names := range words {
		var next *spec
		for _, name := range strings.Split(names, "|") {
			if n.subs[name] != nil && next == nil {
				next = n.subs[name]
			}
		}
		if next == nil {
			next = &spec{subs: map[string]*spec{}}
		}
		for _, name := range strings.Split(names, "|") {
			n.subs[name] = next
		}
		n = next
	}
	p.startNode(n)
	return nil
}

// endNode gives the forms of the current node what they share.
func (p *parser) endNode() {
	n := p.node
	n.flags, n.marks = p.base.flags, p.base.marks
	if n.style == gnu {
		n.style = p.base.style
	}
	if len(n.forms) == 0 && p.base.operands != nil {
		n.forms = []*form{{flags: map[string]flag{}}}
	}
	for _, f := range n.forms {
		f.take(p.base)
		if p.root.marks.inherit && n != p.root {
			take(f.flags, p.root.flags)
		}
	}
}

func take(to, from map[string]flag) {
	for name, f := range from {
		if _, ok := to[name]; !ok {
			to[name] = f
		}
	}
}

func (p *parser) current() *form {
	switch {
	case p.set != nil:
		return p.set
	case p.form != nil:
		return p.form
	}
	return p.base
}

// detail reads a line about the form f.
func (p *parser) detail(f *form, word, rest string) error {
	fields := strings.Fields(rest)
	word, kindName, _ := strings.Cut(word, ":")
	switch word {
	case "flags", "value", "optional", "pair":
		return f.addFlags(word, kindName, fields)
	case "use":
		for _, name := range fields {
			set := p.sets[name]
			if set == nil {
				return fmt.Errorf("no set %q", name)
			}
			f.take(set)
		}
	case "operands":
		return f.setOperands(fields)
	case "require":
		for _, list := range fields {
			f.require = append(f.require, strings.Split(list, "|"))
		}
	case "walks":
		f.walks = append([]string{}, fields...)
	case "follows":
		f.follows = append([]string{}, fields...)
	case "shows":
		f.shows = append([]string{}, fields...)
	case "style":
		i := slices.Index([]string{"gnu", "posix", "long", "find", "plain"}, rest)
		if i < 0 {
			return fmt.Errorf("unknown style %q", rest)
		}
		f.style = style(i)
	default:
		return f.mark(word)
	}
	return nil
}

func (p *parser) wraps(rest string) error {
	who, skip, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(skip)
	if err != nil || who != "allow" && who != "deny" {
		return fmt.Errorf("want: wraps allow|deny N")
	}
	p.node.wrap = &wrapper{allow: who == "allow", skip: n}
	return nil
}
