package grammar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Use is what a command that fits its grammar does with its arguments.
type Use struct {
	Reads  []Word // operands and values that name files
	Public []Word // files of which nothing is shown that could be secret
	Globs  []Word // patterns that choose which files are read
	Git    bool   // the configuration of the git repository matters
	Tree   bool   // directories are read with all that is below them
	Names  bool   // only names and properties of files are shown

	Outside bool // it shows processes, devices or connections of the machine, or asks a service of the user

	Confined bool // it may run code of the project, or write beside its output: it only reads where nothing can be written

	Walks   bool // files below the directories in Reads are shown
	Follows bool // also through links
	Hidden  bool // also hidden ones

	Joins bool // a file in Reads stands for the file of that name in each directory there as well
}

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

// check finds the subcommand that args name and tries its forms. Errors call
// the program by name, which is one of several that share s.
func (s *spec) check(name string, args []Word, m marks) (Use, error) {
	m = m.or(s.marks)
	var unknown error // why there is no subcommand to go by
	if len(s.subs) > 0 {
		sub, rest, err := s.subcommand(name, args)
		if sub != nil {
			return sub.check(name+" "+args[len(args)-len(rest)-1].Value, rest, m)
		}
		if len(s.forms) == 0 {
			return Use{}, err
		}
		if rest != nil {
			unknown = err
		}
	}
	var first error
	for _, f := range s.forms {
		use, err := f.check(args)
		if err == nil {
			use.Git, use.Outside, use.Confined = use.Git || m.git, use.Outside || m.outside, use.Confined || m.confined
			return use, nil
		}
		if first == nil {
			first = err
		}
	}
	if unknown != nil && !slices.ContainsFunc(s.forms, (*form).takesOperands) {
		return Use{}, unknown
	}
	if first == nil {
		first = errors.New("not known to be read-only")
	}
	return Use{}, fmt.Errorf("%s: %w", name, first)
}

func (f *form) takesOperands() bool { return len(f.operands) > 0 }

// subcommand skips the flags in front of a subcommand and finds it, with the words
// after it. If it is not found they are those from where it should be; nil if the flags
// are not understood.
func (s *spec) subcommand(name string, args []Word) (*spec, []Word, error) {
	front := &form{flags: s.flags, style: posix}
	if s.style == long {
		front.style = long
	}
	n, err := front.flagsLen(args)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if n == len(args) {
		return nil, args[n:], fmt.Errorf("%s without a subcommand is not known to be read-only", name)
	}
	if !args[n].Known() {
		return nil, args[n:], fmt.Errorf("%s: the subcommand is not known before it runs", name)
	}
	sub := s.subs[args[n].Value]
	if sub == nil {
		return nil, args[n:], fmt.Errorf("%s %s is not known to be read-only", name, args[n].Value)
	}
	return sub, args[n+1:], nil
}

// flagsLen returns how many words the flags at the front of args take.
func (f *form) flagsLen(args []Word) (int, error) {
	r := &reader{form: f, args: args}
	err := r.readFlags()
	return r.next, err
}

func (f *form) check(args []Word) (Use, error) {
	r := &reader{form: f, args: args}
	if f.marks.keys {
		r.dashFirst()
	}
	if f.style == find {
		r.readExpression()
	} else {
		r.read()
	}
	if r.err != nil {
		return Use{}, r.err
	}
	for _, any := range f.require {
		if !slices.ContainsFunc(any, func(name string) bool { return r.seen[name] }) {
			return Use{}, fmt.Errorf("not known to be read-only without %s", strings.Join(any, " or "))
		}
	}
	if err := r.matchOperands(); err != nil {
		return Use{}, err
	}
	given := func(name string) bool { return r.seen[name] }
	on := func(flags []string) bool {
		return flags != nil && (len(flags) == 0 || slices.ContainsFunc(flags, given))
	}
	return Use{
		Reads: r.reads, Public: r.public, Globs: r.globs, Git: f.marks.git, Tree: f.marks.tree, Names: f.marks.names, Outside: f.marks.outside, Confined: f.marks.confined,
		Walks: on(f.walks), Follows: on(f.follows), Joins: f.marks.joins,
		Hidden: f.shows == nil || slices.ContainsFunc(f.shows, given),
	}, nil
}

// read takes flags and operands until the end.
func (r *reader) read() {
	for r.err == nil && r.next < len(r.args) {
		if !r.ended && r.form.style != plain && r.readFlags() != nil || r.next == len(r.args) {
			return
		}
		r.operand(r.args[r.next])
		r.next++
	}
}

// dashFirst spells out the first word if it is a cluster of flags without a
// dash: their values are the words that follow, in order.
func (r *reader) dashFirst() {
	if len(r.args) == 0 || !r.args[0].Known() || !r.args[0].flagless() {
		return
	}
	rest := r.args[1:]
	var flags []Word
	for _, c := range r.args[0].Value {
		name := "-" + string(c)
		flags = append(flags, Literal(name))
		if r.form.flags[name].arity == required && len(rest) > 0 {
			flags = append(flags, rest[0])
			rest = rest[1:]
		}
	}
	r.args = append(flags, rest...)
}

// excludes reports whether a word of git names files that are left out.
func excludes(w Word) bool {
	magic, _, ok := strings.Cut(w.Value, ")")
	return w.Known() && (strings.HasPrefix(w.Value, ":!") || strings.HasPrefix(w.Value, ":^") || ok && (magic == ":(exclude" || magic == ":(top,exclude" || magic == ":(exclude,top"))
}

// matchOperands gives each operand its place in the grammar.
func (r *reader) matchOperands() error {
	rest := r.operands
	for i, o := range r.form.operands {
		after := 0
		for _, later := range r.form.operands[i+1:] {
			after += later.min
		}
		n := 0
		for n < len(rest)-after && (o.max < 0 || n < o.max) {
			w := rest[n]
			if (w.Many || w.Pattern != "") && o.max >= 0 && !r.form.marks.safe {
				return fmt.Errorf("a word that could expand to several")
			}
			if err := o.kind.accepts(w); err != nil {
				return err
			}
			if o.kind.path && !(o.kind.rev && excludes(w)) {
				r.reads = append(r.reads, o.kind.file(w))
			}
			n++
		}
		if n < o.min {
			return fmt.Errorf("the %s is missing", o.kind.name)
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("does not accept the operand %s", rest[0].Value)
	}
	return nil
}
