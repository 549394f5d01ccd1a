package grammar

import (
	"fmt"
	"strings"
)

// A reader takes the arguments of one command apart.
type reader struct {
	form     *form
	args     []Word
	next     int // of args
	seen     map[string]bool
	operands []Word
	reads    []Word
	public   []Word
	globs    []Word
	ended    bool // "--" was read: no flags follow
	err      error
}

// operand takes a word that is no flag, or that cannot be shown to be none.
func (r *reader) operand(w Word) {
	if !w.Known() && !r.ended && r.form.style != plain && !r.form.marks.safe && !w.flagless() {
		r.err = fmt.Errorf("a word that is only known at run time could become a flag")
	}
	r.operands = append(r.operands, w)
}

// readFlags takes the flags up to the next operand.
func (r *reader) readFlags() error {
	for r.err == nil && r.next < len(r.args) {
		w := r.args[r.next]
		if len(w.Value) < 2 || w.Value[0] != '-' {
			return nil
		}
		if len(r.operands) > 0 && (r.form.style == posix || r.form.style == long) {
			r.err = fmt.Errorf("%s after an operand is read differently by programs", w.Value)
			return r.err
		}
		if !w.Known() {
			r.dynamicFlag(w)
			return r.err
		}
		r.next++
		switch {
		case w.Value == "--":
			r.ended = true
			return nil
		case r.form.style == long:
			r.longFlag("-" + strings.TrimLeft(w.Value, "-"))
		case strings.HasPrefix(w.Value, "--"):
			r.longFlag(w.Value)
		case r.form.number && isNumber(w.Value[1:]):
		default:
			r.cluster(w.Value[1:])
		}
	}
	return r.err
}

// dynamicFlag takes --name="$value": the flag is known, its value is not.
func (r *reader) dynamicFlag(w Word) {
	name, _, ok := strings.Cut(w.Value, "=")
	f, known := r.form.flags[name]
	if r.form.marks.safe && !ok {
		r.operands = append(r.operands, w)
		r.next++
		return
	}
	several := w.Many && (w.Dynamic || f.kind.path) // all words that a pattern becomes begin with the flag
	if !ok || !known || f.arity == bare || f.arity == pair || several {
		r.err = fmt.Errorf("a flag that is only known at run time")
		return
	}
	r.next++
	_, shape, _ := strings.Cut(w.Shape, "=")
	r.use(name, f, Word{Dynamic: true, Shape: shape})
}

func (r *reader) longFlag(word string) {
	name, value, hasValue := strings.Cut(word, "=")
	f, ok := r.form.flags[name]
	switch {
	case !ok:
		r.err = fmt.Errorf("the flag %s is not known to be harmless", name)
	case f.arity == bare && hasValue && value != "true" && value != "false":
		r.err = fmt.Errorf("the flag %s takes no value", name)
	case hasValue && f.arity != pair:
		r.use(name, f, Literal(value))
	case f.arity == required:
		r.use(name, f, r.nextValue(name))
	case f.arity == pair:
		r.use(name, f, r.nextValue(name))
		r.use(name, f, r.nextValue(name))
	default:
		r.see(name)
	}
}

// cluster takes the short flags of one word, such as the "la" of -la.
func (r *reader) cluster(letters string) {
	for i, c := range letters {
		name := "-" + string(c)
		f, ok := r.form.flags[name]
		rest := letters[i+len(string(c)):]
		switch {
		case !ok:
			r.err = fmt.Errorf("the flag %s is not known to be harmless", name)
			return
		case f.arity == bare:
			r.see(name)
			continue
		case f.arity == attached && rest == "":
			r.see(name)
		case rest != "" && r.form.marks.apart && !isNumber(rest):
			r.err = fmt.Errorf("the value of %s must be a separate word", name)
		case rest != "":
			r.use(name, f, Literal(rest))
		default:
			r.use(name, f, r.nextValue(name))
		}
		return
	}
}

// nextValue takes the next word as the value of a flag.
func (r *reader) nextValue(name string) Word {
	if r.next == len(r.args) {
		r.err = fmt.Errorf("the flag %s needs a value", name)
		return Word{}
	}
	w := r.args[r.next]
	if w.Many || w.Pattern != "" {
		r.err = fmt.Errorf("the value of %s could expand to several words", name)
	}
	if r.form.style != find && !r.form.marks.safe && looksLikeFlag(w.Value) {
		// If the flag takes no value after all, this is another flag.
		r.err = fmt.Errorf("the value of %s looks like a flag", name)
	}
	r.next++
	return w
}

func (r *reader) use(name string, f flag, value Word) {
	if r.err != nil {
		return
	}
	if err := f.kind.accepts(value); err != nil {
		r.err = fmt.Errorf("%s: %w", name, err)
	}
	if f.kind.path {
		r.reads = append(r.reads, f.kind.file(value))
	}
	if f.kind.public {
		r.public = append(r.public, value)
	}
	if f.kind.glob {
		r.globs = append(r.globs, value)
	}
	r.see(name)
}

func (r *reader) see(name string) {
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[name] = true
}

// readExpression takes one-letter flags, operands and then words that each
// begin with a dash.
func (r *reader) readExpression() {
	for r.next < len(r.args) && r.args[r.next].Known() && len(r.args[r.next].Value) == 2 && r.form.flags[r.args[r.next].Value].arity == bare {
		if _, ok := r.form.flags[r.args[r.next].Value]; !ok {
			break
		}
		r.next++
	}
	for ; r.next < len(r.args) && r.err == nil; r.next++ {
		w := r.args[r.next]
		if r.operands = append(r.operands, w); !w.flagless() {
			r.operands = r.operands[:len(r.operands)-1]
			break
		}
	}
	for r.next < len(r.args) && r.err == nil {
		w := r.args[r.next]
		r.next++
		f, ok := r.form.flags[w.Value]
		switch {
		case !w.Known() || !ok:
			r.err = fmt.Errorf("%s is not known to be harmless", w.Value)
		case f.arity == required:
			r.use(w.Value, f, r.nextValue(w.Value))
		default:
			r.see(w.Value)
		}
	}
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

// looksLikeFlag reports whether a program might take a word for a flag; -5 and
// a lone dash do no harm.
func looksLikeFlag(s string) bool {
	return len(s) > 1 && s[0] == '-' && (s[1] < '0' || s[1] > '9')
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
