package grammar

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell/awkscript"
	"github.com/haftdev/haft/internal/shell/jqfilter"
	"github.com/haftdev/haft/internal/shell/sedscript"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// A spec is what one program or subcommand accepts.
type spec struct {
	flags map[string]flag  // before a subcommand
	subs  map[string]*spec // nil: none
	forms []*form          // ways of use without a further subcommand
	wrap  *wrapper         // set for programs that run another one
	style style
	marks marks
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

// A form is one way to use a program.
type form struct {
	flags    map[string]flag
	operands []operand
	require  [][]string
	walks    []string // flags by which directories are read with all that is below; nil: none, empty: always
	follows  []string // flags by which links below a directory are followed; nil: none, empty: always
	shows    []string // flags by which hidden files are read as well; nil: always
	style    style
	number   bool
	marks    marks
}

func (f *form) takesOperands() bool { return len(f.operands) > 0 }

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

// conversion is one of printf's that prints, %n is none.
const conversion = `%[-+ #0']*[0-9]{0,4}(?:\.[0-9]{0,4})?[hlLjzt]*(?:[diouxXeEfFgGaAcsbqQ%]|\([^()]*\)T)`

var kinds = map[string]kind{
	"text":   {name: "text", opaque: true},
	"path":   {name: "path", path: true, opaque: true},
	"file":   {name: "local file", path: true, check: isLocal},
	"cert":   {name: "certificate", public: true, check: isCertificate},
	"glob":   {name: "pattern", glob: true, opaque: true},
	"yq":     {name: "path in a document", path: true, check: lazyregexp.New(`^\.[A-Za-z0-9_.\[\]"-]*$`).MatchString},
	"printf": {name: "format", check: lazyregexp.New(`(?s)^(?:(?:[^%-]|` + conversion + `)(?:[^%]|` + conversion + `)*)?$`).MatchString},
	"name":   {name: "file name without line breaks", path: true, opaque: true, check: func(s string) bool { return !strings.ContainsAny(s, "\n\r") }},
	"rev":    {name: "revision", path: true, opaque: true, rev: true},
	"num":    {name: "number", check: lazyregexp.New(`^[-+]?[0-9][0-9.,:]*[a-zA-Z%]*$`).MatchString},
	"sed":    {name: "sed script", check: func(s string) bool { return sedscript.Check(s) == nil }},
	"awk":    {name: "awk program", check: func(s string) bool { return awkscript.Check(s) == nil }},
	"input":  {name: "file or assignment", path: true, opaque: true, check: func(s string) bool { return !strings.HasPrefix(s, "/inet") }},
	"jq":     {name: "jq filter", check: func(s string) bool { return jqfilter.Check(s) == nil }},
}

// isLocal reports whether a name cannot be that of a host, of an engine or of a
// file of further options.
func isLocal(s string) bool {
	return !strings.Contains(s, ":") && s != "" && s[0] != '@' && s[0] != '+'
}

// isCertificate reports whether a local file has the name of a certificate.
func isCertificate(s string) bool {
	return isLocal(s) && slices.Contains([]string{".pem", ".crt", ".cer", ".cert", ".der"}, strings.ToLower(path.Ext(s)))
}

func parseKind(s string) (kind, error) {
	if k, ok := kinds[s]; ok {
		return k, nil
	}
	if list, ok := strings.CutPrefix(s, "{"); ok && strings.HasSuffix(list, "}") {
		return regexpKind(s, strings.TrimSuffix(list, "}"), true)
	}
	body, not := strings.CutPrefix(s, "!")
	if len(body) > 1 && body[0] == '/' && body[len(body)-1] == '/' {
		return regexpKind(s, body[1:len(body)-1], !not)
	}
	return kind{}, fmt.Errorf("unknown kind %q", s)
}

func regexpKind(name, expr string, want bool) (kind, error) {
	re, err := regexp.Compile(`^(?:` + expr + `)$`)
	if err != nil {
		return kind{}, err
	}
	return kind{name: "word", check: func(s string) bool { return re.MatchString(s) == want }}, nil
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

// marks are the properties that a form passes on to who asks.
type marks struct{ safe, git, tree, names, keys, apart, inherit, outside, confined, joins bool }

func (m marks) or(n marks) marks {
	return marks{m.safe || n.safe, m.git || n.git, m.tree || n.tree, m.names || n.names, m.keys || n.keys, m.apart || n.apart, m.inherit || n.inherit, m.outside || n.outside, m.confined || n.confined, m.joins || n.joins}
}

type flag struct {
	arity arity
	kind  kind
}

type arity int

const (
	bare     arity = iota // no value
	required              // the rest of the word or the next word
	attached              // the rest of the word, if any
	pair                  // the next two words
)

type operand struct {
	kind     kind
	min, max int // max < 0: any number
}

type style int

const (
	gnu   style = iota // -abc, --long=value, anywhere before "--"
	posix              // the same, but none may follow an operand
	long               // -long value, --long=value, before operands
	find               // operands, then an expression of -long words
	plain              // every word is an operand
)

// A wrapper is how a program names the program that it runs.
type wrapper struct {
	allow bool // an allow rule may look through it
	skip  int  // operands before the program's name
}
