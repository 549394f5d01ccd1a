package grammar

import (
	"embed"
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

// take adds what a group or the shared part of a node says to f.
func (f *form) take(from *form) {
	take(f.flags, from.flags)
	if f.operands == nil {
		f.operands = from.operands
	}
	f.require = append(f.require, from.require...)
	for _, list := range []struct{ to, from *[]string }{{&f.walks, &from.walks}, {&f.follows, &from.follows}, {&f.shows, &from.shows}} {
		if *list.to == nil {
			*list.to = *list.from
		}
	}
	f.number = f.number || from.number
	if f.style == gnu {
		f.style = from.style
	}
	f.marks = f.marks.or(from.marks)
}

func (m marks) or(n marks) marks {
	return marks{m.safe || n.safe, m.git || n.git, m.tree || n.tree, m.names || n.names, m.keys || n.keys, m.apart || n.apart, m.inherit || n.inherit, m.outside || n.outside, m.confined || n.confined, m.joins || n.joins}
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

func (f *form) mark(word string) error {
	switch word {
	case "number":
		f.number = true
	case "safe":
		f.marks.safe = true
	case "git":
		f.marks.git = true
	case "tree":
		f.marks.tree = true
	case "names":
		f.marks.names = true
	case "keys":
		f.marks.keys = true
	case "apart":
		f.marks.apart = true
	case "inherit":
		f.marks.inherit = true
	case "outside":
		f.marks.outside = true
	case "confined":
		f.marks.confined = true
	case "joins":
		f.marks.joins = true
	default:
		return fmt.Errorf("unknown word %q", word)
	}
	return nil
}

func (f *form) addFlags(word, kindName string, names []string) error {
	k := kinds["text"]
	if kindName != "" {
		var err error
		if k, err = parseKind(kindName); err != nil {
			return err
		}
	}
	arity := map[string]arity{"flags": bare, "value": required, "optional": attached, "pair": pair}[word]
	for _, name := range names {
		f.flags[name] = flag{arity, k}
	}
	return nil
}

func (f *form) setOperands(fields []string) error {
	f.operands = []operand{}
	if slices.Equal(fields, []string{"none"}) {
		return nil
	}
	for _, s := range fields {
		o := operand{min: 1, max: 1}
		switch s[len(s)-1] {
		case '?':
			o.min = 0
		case '*':
			o.min, o.max = 0, -1
		case '+':
			o.max = -1
		}
		k, err := parseKind(strings.TrimRight(s, "?*+"))
		if err != nil {
			return err
		}
		o.kind = k
		f.operands = append(f.operands, o)
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
