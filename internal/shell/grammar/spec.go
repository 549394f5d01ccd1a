package grammar

// A spec is what one program or subcommand accepts.
type spec struct {
	flags map[string]flag  // before a subcommand
	subs  map[string]*spec // nil: none
	forms []*form          // ways of use without a further subcommand
	wrap  *wrapper         // set for programs that run another one
	style style
	marks marks
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

// marks are the properties that a form passes on to who asks.
type marks struct{ safe, git, tree, names, keys, apart, inherit, outside, confined, joins bool }

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
