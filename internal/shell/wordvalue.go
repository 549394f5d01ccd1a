package shell

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell/grammar"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// A value is what is known about a word before it runs.
type value struct {
	grammar.Word
	guess  string   // the likely value, for deny rules
	others []string // what it may be instead, if the script sets a variable several times
	split  bool     // blanks in guess separate words
	refuse string   // why no command with this word is read-only, "" if it may be
	output bool     // part of it is the output of a command
	param  bool     // part of it is the value of a variable
	rest   bool     // it stands for words that xargs takes from its input

	certain   bool // guess is what it becomes, if no builtin sets a variable by name
	inherited bool // all that is not known of it are variables that the script does not set
}

// unknown stands in a Shape for text that is not known.
const unknown = "\x00"

// A binding is what is known about a variable.
type binding struct {
	value value
	sure  bool // nothing else can have set it
	once  bool // only the script's one assignment sets it, though programs may heed it
	data  bool // read from input, so it is no secret of the environment
}

// maxBraces bounds the words that one word with braces may become,
// maxBraceExps the braces in it.
const (
	maxBraces    = 256
	maxBraceExps = 16
)

// values returns the words that w becomes.
func (a *analyzer) values(words ...*syntax.Word) []value {
	var out []value
	for _, w := range words {
		for _, one := range a.braces(w) {
			out = append(out, a.value(one))
		}
	}
	return out
}

// braces expands {a,b} in a word.
func (a *analyzer) braces(w *syntax.Word) []*syntax.Word {
	cp := *w
	if !syntax.SplitBraces(&cp) {
		return []*syntax.Word{w}
	}
	if countBraces(&cp) > maxBraceExps {
		a.refuse("a brace expression expands to too many words")
		return []*syntax.Word{w}
	}
	var out []*syntax.Word
	for one, err := range expand.BracesSeq(nil, &cp) {
		if err != nil || len(out) == maxBraces {
			a.refuse("a brace expression expands to too many words")
			return []*syntax.Word{w}
		}
		out = append(out, one)
	}
	return out
}

func countBraces(w *syntax.Word) int {
	n := 0
	for _, part := range w.Parts {
		if b, ok := part.(*syntax.BraceExp); ok {
			n++
			for _, elem := range b.Elems {
				n += countBraces(elem)
			}
		}
	}
	return n
}

// value returns what is known about a word without braces.
func (a *analyzer) value(w *syntax.Word) value {
	if s := w.Lit(); s != "" && !strings.ContainsAny(s, `\*?[]~`) {
		return value{Word: grammar.Word{Value: s, Shape: s}, guess: s} // most words
	}
	b := &builder{a: a}
	for i, part := range w.Parts {
		b.first = i == 0
		b.part(part, false)
	}
	return b.value()
}

// A builder puts a value together from the parts of a word.
type builder struct {
	a       *analyzer
	first   bool // at the first part
	known   strings.Builder
	pattern strings.Builder // known, with quoted characters escaped
	shape   strings.Builder
	guess   strings.Builder
	others  []string // see value
	prefix  string   // known up to the first part that is not
	glob    bool
	doubt   bool // some part is not certain
	made    bool // some part that is not known is no inherited variable
	v       value
}

func (b *builder) value() value {
	v := b.v
	v.guess, v.others, v.Shape = b.guess.String(), b.others, b.shape.String()
	v.certain, v.inherited = !b.doubt && !b.glob, !b.made && !b.glob
	v.Listed = v.Listed && !strings.Contains(v.Shape, "..")
	switch {
	case v.Dynamic:
		v.Many = v.Many || b.glob
		if !v.Many { // of several words only the first would begin so
			v.Value = b.prefix
		}
	case b.glob:
		v.Value, v.Pattern, v.Many = b.prefix, b.pattern.String(), true
	default:
		v.Value = b.known.String()
	}
	return v
}

// text adds characters that stand for themselves.
func (b *builder) text(s string) {
	b.known.WriteString(s)
	b.shape.WriteString(s)
	b.guessed(s)
	for i := range len(s) {
		if strings.IndexByte(`*?[]\`, s[i]) >= 0 {
			b.pattern.WriteByte('\\')
		}
		b.pattern.WriteByte(s[i])
	}
}

// meta adds an unquoted character of a pattern.
func (b *builder) meta(c byte) {
	b.end()
	b.glob = true
	s := string(rune(c))
	b.known.WriteString(s)
	b.shape.WriteString(s)
	b.guessed(s)
	b.pattern.WriteString(s)
}

// guessed adds a part to the likely value of the word, and to the others that it may have.
func (b *builder) guessed(part string) {
	for i := range b.others {
		b.others[i] += part
	}
	b.guess.WriteString(part)
}

// end notes that the known beginning of the word is over.
func (b *builder) end() {
	if !b.v.Dynamic && !b.glob {
		b.prefix = b.known.String()
	}
}

// unknown adds a part whose value is not known.
func (b *builder) unknown(guess string, many bool) {
	b.end()
	b.doubt, b.made, b.v.Dynamic = true, true, true
	b.v.Many = b.v.Many || many
	b.v.split = b.v.split || many
	b.shape.WriteString(unknown)
	b.guessed(guess)
}

// wild adds a part that a file or a program chooses. Listed says that it is the
// name of a file below the working directory.
func (b *builder) wild(guess string, many, listed bool) {
	b.v.Wild, b.v.Listed = true, listed && !b.v.Wild
	b.unknown(guess, many)
}

func (b *builder) refuse(reason string) {
	if b.v.refuse == "" {
		b.v.refuse = reason
	}
}

func (b *builder) part(part syntax.WordPart, inQuotes bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		if inQuotes {
			b.quotedLit(p.Value)
		} else {
			b.lit(p.Value)
		}
	case *syntax.SglQuoted:
		b.single(p)
	case *syntax.DblQuoted:
		if p.Dollar {
			b.refuse("$\"…\" is translated by the locale")
			b.unknown("", false)
		}
		for _, part := range p.Parts {
			b.part(part, true)
		}
	case *syntax.ParamExp:
		b.param(p, inQuotes)
	case *syntax.CmdSubst:
		b.cmdSubst(p, inQuotes)
	case *syntax.ProcSubst:
		b.procSubst(p)
	case *syntax.ArithmExp:
		b.arithm(p, inQuotes)
	default:
		if glob, ok := part.(*syntax.ExtGlob); ok {
			b.a.denyTokens(glob.Pattern.Value) // zsh would run some of them
		}
		b.a.searchNested(part)
		b.refuse("an extended pattern")
		b.unknown("", true)
	}
}

// lit adds unquoted text.
func (b *builder) lit(s string) {
	if b.first && strings.HasPrefix(s, "~") {
		s = b.tilde(s)
	} else if strings.Contains(s, "=~") || strings.Contains(s, ":~") {
		b.refuse("a tilde inside a word may become a path")
	}
	if strings.HasSuffix(b.known.String(), "$") && s != "" && strings.ContainsRune("~^=", rune(s[0])) {
		b.refuse("a tilde inside a word may become a path")
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				b.text(s[i : i+1])
			}
		case c == '*' || c == '?' || c == '[' && strings.Contains(s[i:], "]"):
			b.meta(c)
		case c == ']' && b.glob:
			b.meta(c)
		default:
			b.text(s[i : i+1])
		}
	}
}

// tilde adds the home directory that s begins with and returns the rest.
func (b *builder) tilde(s string) string {
	user, _, _ := strings.Cut(s, "/")
	rest := s[len(user):]
	if user != "~" {
		b.refuse("it refers to another directory with " + user)
		b.unknown(user, false)
		return rest
	}
	b.home("~")
	return rest
}

// home adds the home directory.
func (b *builder) home(written string) {
	if home := b.a.opts.Home; home != "" {
		b.text(home)
		return
	}
	b.end()
	b.doubt, b.made, b.v.Dynamic = true, true, true
	b.shape.WriteString("~")
	b.guessed(written)
	if b.prefix == "" {
		b.prefix = "~" // whatever it is, it is no flag
	}
}

// quotedLit adds text from inside double quotes.
func (b *builder) quotedLit(s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.text(s[i : i+1])
	}
}

func (b *builder) single(q *syntax.SglQuoted) {
	if !q.Dollar {
		b.text(q.Value)
		return
	}
	s, ok := ansiC(q.Value)
	if !ok {
		b.refuse("a $'…' string with an escape that shells read differently")
		b.unknown(s, false)
		return
	}
	b.text(s)
}

// harmless variables hold no secret: they may be printed.
var harmless = []string{
	"PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "HOSTNAME", "HOSTTYPE", "MACHTYPE", "OSTYPE", "UID", "EUID", "PPID", "GROUPS", "RANDOM", "SRANDOM",
	"SECONDS", "EPOCHSECONDS", "LINENO", "COLUMNS", "LINES", "BASH_VERSION", "BASHPID", "SHLVL", "PWD", "OLDPWD", "HOME", "TMPDIR", "EDITOR", "PAGER", "VISUAL", "GOPATH", "GOROOT", "PIPESTATUS",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "VIRTUAL_ENV", "CONDA_PREFIX", "JAVA_HOME", "NVM_DIR", "DISPLAY", "CI", "NODE_ENV",
	"?", "$", "!", "#",
}

// guesses are likely values of variables that are not known.
var guesses = map[string]string{"BASH": "bash", "0": "bash", "SHELL": "bash", "IFS": " "}

// param adds the value of a parameter expansion.
func (b *builder) param(p *syntax.ParamExp, inQuotes bool) {
	name := ""
	if p.Param != nil {
		name = p.Param.Value
	}
	bound, isBound := b.a.vars[name]
	if !plain(p) {
		b.expansion(p, isBound && bound.sure || isHarmless(name), inQuotes)
		return
	}
	if isBound && bound.sure && bound.value.Known() {
		b.v.param = true
		b.boundText(bound.value.Value, inQuotes)
		return
	}
	defer b.otherwise(b.guess.String(), b.a.literals[name])
	switch {
	case isBound:
		b.boundUnknown(bound, name, inQuotes)
	case name == "HOME":
		b.home("$HOME")
	case name == "PWD" && len(b.a.dirs) == 1 && strings.HasPrefix(b.a.dirs[0], "/"):
		b.text(b.a.dirs[0])
	default:
		if !isHarmless(name) {
			b.refuse("the value of $" + name + " may be a secret")
		}
		made := b.made
		b.unknown(guesses[name], !inQuotes || name == "@")
		b.made = made || b.a.assigned[name] > 0 || b.a.looped[name] || !scriptSets(name)
	}
}

// otherwise notes, after a variable was added to a word that began so, what the word is if the variable has
// another value that the script gives it.
func (b *builder) otherwise(began string, literals []string) {
	for _, s := range literals {
		if s = began + s; s != b.guess.String() && len(b.others) < maxOthers {
			b.others = append(b.others, s)
		}
	}
}

func isHarmless(name string) bool {
	return slices.Contains(harmless, name) || strings.HasPrefix(name, "LC_")
}

// boundText adds the known value of a variable, which may split outside quotes.
func (b *builder) boundText(s string, inQuotes bool) {
	if inQuotes || s != "" && !strings.ContainsAny(s, " \t\n*?[\\") {
		b.text(s)
		return
	}
	doubt := b.doubt
	b.unknown(s, true)
	b.doubt = doubt || matches(s)
}

// boundUnknown adds a variable of which only a pattern or a guess is known.
func (b *builder) boundUnknown(bound binding, name string, inQuotes bool) {
	if !bound.sure && !bound.data {
		b.refuse("the value of $" + name + " is not known")
	}
	if bound.value.refuse != "" {
		b.refuse(bound.value.refuse)
	}
	b.v.output = b.v.output || bound.value.output || bound.data
	if doubt := b.doubt; bound.once {
		defer func() { b.doubt = doubt || !inQuotes && matches(bound.value.guess) }()
	}
	word, starts := bound.value.Word, b.known.Len() == 0
	if bound.sure && inQuotes && word.Value != "" {
		b.text(word.Value) // what the pattern begins with
	}
	if bound.data || word.Wild || word.Pattern != "" {
		b.wild(bound.value.guess, !inQuotes || name == "@", starts && (word.Listed || word.Pattern != "" && below(word.Pattern)))
	} else {
		b.unknown(bound.value.guess, !inQuotes || name == "@")
	}
	if rest, ok := strings.CutPrefix(bound.value.Shape, bound.value.Value); ok && bound.sure {
		b.shape.WriteString(rest)
	}
}

// expansion adds ${x…} with an operator. Only those that trim or replace a
// variable that may be printed by a literal are read-only.
func (b *builder) expansion(p *syntax.ParamExp, printable, inQuotes bool) {
	b.a.searchNested(p)
	ok := printable && p.Param != nil && !p.Excl && !p.Width && !p.IsSet && p.Flags == nil && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 &&
		p.NestedParam == nil && len(p.Modifiers) == 0 && (p.Exp == nil || trims(p.Exp))
	if !ok {
		b.refuse("a parameter expansion with an operator")
	}
	guess := ""
	if p.Exp != nil && p.Exp.Word != nil && fixed(p.Exp.Word) {
		guess = b.a.value(p.Exp.Word).guess
	}
	b.unknown(guess, !inQuotes)
}

// trims reports whether an operator cuts a literal off or changes case.
func trims(e *syntax.Expansion) bool {
	switch e.Op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return e.Word == nil || isLiteral(e.Word)
	}
	return false
}

// isLiteral reports whether nothing in a word is expanded.
func isLiteral(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
		case *syntax.SglQuoted:
			if p.Dollar {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// cmdSubst adds the output of a command.
func (b *builder) cmdSubst(p *syntax.CmdSubst, inQuotes bool) {
	if p.TempFile || p.ReplyVar {
		b.refuse("a command substitution from another shell")
	}
	if p.Backquotes && strings.Contains(b.a.text(p), `\`) {
		b.refuse("a backslash inside backquotes")
	}
	if len(p.Stmts) == 0 {
		b.refuse("an empty command substitution")
	}
	b.a.subshell(func() { b.a.stmts(p.Stmts) })
	if text, ok := literalHeredoc(p); ok && inQuotes {
		b.text(text)
		return
	}
	b.v.output = true
	if b.a.printsPlace(p.Stmts) {
		b.unknown("", !inQuotes)
		return
	}
	b.wild(b.a.outputGuess(p.Stmts), !inQuotes, b.known.Len() == 0 && b.a.lists(p.Stmts))
}

// plainDelimiter is one that every shell finds the end of.
var plainDelimiter = lazyregexp.New(`^[A-Za-z_]+$`)

// literalHeredoc returns what $(cat <<'EOF' …) becomes: the text of a here-document
// in which nothing is expanded.
func literalHeredoc(p *syntax.CmdSubst) (string, bool) {
	if p.Backquotes || len(p.Stmts) != 1 || len(p.Stmts[0].Redirs) != 1 || p.Stmts[0].Background || p.Stmts[0].Negated {
		return "", false
	}
	call, ok := p.Stmts[0].Cmd.(*syntax.CallExpr)
	r := p.Stmts[0].Redirs[0]
	if !ok || len(call.Args) != 1 || len(call.Assigns) > 0 || call.Args[0].Lit() != "cat" || r.Op != syntax.Hdoc || r.N != nil || len(r.Word.Parts) != 1 {
		return "", false
	}
	quoted, ok := r.Word.Parts[0].(*syntax.SglQuoted)
	if !ok || quoted.Dollar || !plainDelimiter.MatchString(quoted.Value) || r.Hdoc == nil {
		return "", false
	}
	return strings.TrimRight(r.Hdoc.Lit(), "\n"), r.Hdoc.Lit() != ""
}

func (b *builder) procSubst(p *syntax.ProcSubst) {
	if p.Op != syntax.CmdIn {
		b.refuse("a process substitution that is written to")
	}
	b.a.subshell(func() { b.a.stmts(p.Stmts) })
	if len(p.Stmts) == 0 {
		b.refuse("an empty process substitution")
	}
	b.text("/dev/fd/")
	b.unknown("63", false)
}

// arithm adds the result of $((…)).
func (b *builder) arithm(p *syntax.ArithmExp, inQuotes bool) {
	if p.Bracket || p.Unsigned || !literalArithm(p.X) {
		b.a.searchNested(p)
		b.refuse("arithmetic on something other than a plain number")
	}
	b.unknown("0", !inQuotes)
}
