package shell

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/shell/grammar"
)

// Options say where a command would run. The zero value knows nothing.
type Options struct {
	Cwd   string   // where it would run; "": relative cd and paths are unresolved
	Home  string   // the user's home; "": not known
	Roots []string // writable directories: a program below one is never trusted, cd stays inside; nil: Cwd
	// Kept reports whether a physical path is what the session has kept for its model, which may be read; nil: nothing is.
	Kept func(path string) bool
	FS   FS // for cd, PATH and operands; nil: nothing is known
	// Environ is what commands inherit, as os.Environ gives it; [Hardening] unsets what names the project. Nil: nothing is known.
	Environ []string
}

// An Analysis says what a command would do, as far as can be proved.
type Analysis struct {
	// ReadOnly: it changes nothing, contacts nobody but the user's own
	// services, starts no code chosen by the repository and prints no
	// credential, as long as Run is run in the environment of Hardening.
	ReadOnly bool
	Reason   string // why it is not ReadOnly, a sentence for a user
	Run      string // the command rendered from its parsed values; what must run when ReadOnly

	// Words are those of Run if it is one program whose words are all known, and no
	// command of the shell itself: it does the same without a shell. Nil otherwise, and
	// unless ReadOnly.
	Words []string

	// Exact: Allow lists everything that needs a rule, in literal words.
	Exact   bool
	Inexact string // why it is not Exact
	Allow   []Command

	Deny []Command // every command in every form; never empty unless the command is blank

	// Unseen: why Deny may lack a command that runs: its name, or text that is run as a
	// command, is only known at run time. "" if nothing like that was found, and if
	// ReadOnly.
	Unseen string

	Reads, Writes []Path

	// ReadTrees and WriteTrees are the operands that it copies, moves, changes or deletes
	// with everything below them, if they are folders.
	ReadTrees, WriteTrees []Path
	FollowsLinks          bool // in ReadTrees

	Secrets []string // physical paths of files that may hold credentials, in folders that it shows

	Matched []Path // what patterns stand for in commands that are not known to only read

	Critical string // what a circuit breaker must protect in every mode, "" if nothing
	// Uncommitted: that is only what is not committed in the repository, if there is such a thing.
	Uncommitted bool
	UsesGit     bool // the configuration of the git repository matters

	// GitDirs are the folders in which it may run git where it is not ReadOnly.
	GitDirs []string

	// Outside: it shows processes, devices or connections of the machine, or asks
	// a service of the user (gh, kubectl, docker), so that it means nothing in a
	// sandbox, and no other program takes part but ones that only pass on text.
	Outside bool

	// Contained: it is not ReadOnly, but would be if it ran where nothing can be
	// written and nobody reached: it checks or shows something, and may run code of the
	// project for that. Run is set.
	Contained bool
}

// An Analyzed value has the analysis of a command in a directory; nil if it is about another
// directory. Tools have it in [tool.Facts].
type Analyzed interface {
	Analysis(dir string) *Analysis
}

// A Command is one simple command.
type Command struct {
	Words   []string // values, quotes removed; the best guess for a word that is not known
	Text    string   // Words joined by single blanks: what rules match
	Dynamic bool     // the value of some word is not known
	Open    []bool   // by word, whether its value is not known; nil if all are
	Assigns []string // names of leading assignments that are not harmless
	Prefix  string   // the leading assignments as text, "FOO=bar BAZ=1"

	Source  string // as it is written, with quotes and assignments; "" if that is not known
	Wrapped string // Text with the wrappers that were taken off, as xargs; "" if there were none

	// ExactOnly: it runs or deletes what its operands say (find -exec, watch,
	// setsid …), so a rule with a wildcard must not allow it.
	ExactOnly bool
	// Maybe: it is among Deny because a text has it that a program may run, or because
	// another command does the same.
	Maybe bool
	// More: further words come from its input, as xargs adds them.
	More bool
	// Fed: its input comes from another command, a file or the command's own text.
	Fed bool
	// Edit: all that it does is change the files in Edits, all of them
	// literal: touch, mkdir, rmdir, rm, mv, cp and sed -i.
	Edit  bool
	Edits []Path
}

// A Path is a file that a command names.
type Path struct {
	Value   string // as the program gets it, or the pattern or known beginning of it
	Dynamic bool   // the value, or the directory it is relative to, is not fully known
	Cwd     string // the directory that a relative Value starts from; "": not known

	Pattern string // the pattern that stands for it and for others, "" if it is named itself

	Public bool // nothing of it is shown that could be secret, as of a certificate

	Redirect bool // it is the target of a redirection, which no rule about the command covers
}

// Analyze reads a command and says what it would do. A nil opts is a zero one.
func Analyze(command string, opts *Options) *Analysis {
	a := newAnalyzer(opts)
	a.source = command
	if strings.TrimSpace(command) == "" {
		a.fail("the command is empty")
		a.inexact("the command is empty")
		return a.finish()
	}
	reason := guard(command)
	if reason != "" && !parseable(command) {
		a.unreadable(command, reason)
		return a.finish()
	}
	file, err := parse(command)
	if err != nil {
		a.unreadable(command, "the shell syntax cannot be parsed: "+err.Error())
		a.denyBeforeError(command)
		return a.finish()
	}
	if len(file.Stmts) == 0 {
		a.refuse("the command contains only comments")
		a.denyTokens(command)
		return a.finish()
	}
	if reason != "" {
		a.refuse(reason)
	}
	if hidesText(command) {
		a.denyTokens(command)
	}
	a.assigned, a.looped = setNames(file)
	a.noteLiterals(file.Stmts)
	a.noteEvaluated(file.Stmts)
	a.lone = len(file.Stmts) == 1
	a.stmts(file.Stmts)
	a.denyFed()
	a.criticalInput()
	a.checkIndirect()
	if a.out.Reason == "" {
		a.render(file)
	}
	return a.finish()
}

// parse reads a script. The parser panics on some scripts that end inside a
// here-document; that is a script that cannot be read.
func parse(command string) (file *syntax.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	return newParser().Parse(strings.NewReader(command), "")
}

// parseBeforeError returns the statements in front of a syntax error.
func parseBeforeError(command string) (before []*syntax.Stmt) {
	defer func() { _ = recover() }() // as in parse: what came before stays
	for st, err := range newParser().StmtsSeq(strings.NewReader(command)) {
		if err != nil {
			break
		}
		before = append(before, st)
	}
	return before
}

func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// An analyzer walks one command.
type analyzer struct {
	opts       Options
	table      *grammar.Table
	out        *Analysis
	source     string
	calling    string                    // the source of the simple command that is being judged
	dirs       dirs                      // where the shell may be
	vars       map[string]binding        // what is known about variables
	assigned   map[string]int            // how often the script may set a name, for aside
	looped     map[string]bool           // names that for sets
	literals   map[string][]string       // what the script sets variables to, whichever of it runs
	redirected bool                      // the statement being walked has redirections
	piped      bool                      // the input of the statement being walked is not the session's
	listed     bool                      // that input is a list of files below the working directory
	inner      bool                      // the script is the operand of sh -c
	lone       bool                      // the script is one statement
	nested     int                       // depth of scripts inside words: only Deny and paths count
	depth      int                       // of the statements being walked
	steps      int                       // budget of statements and commands
	reading    bool                      // in the condition of "while read x"
	indirect   bool                      // some operand comes from the output of a command
	listings   []listing                 // the commands that list the files which others are given
	programs   map[string]bool           // whether programs may be taken from directories, as far as was asked
	trees      map[string]*tree          // what is known of the folders that were looked through
	words      []string                  // literal words of all commands
	denied     map[string]bool           // texts in Deny
	texts      []string                  // what commands print or get as input
	removes    bool                      // some command removes directories
	fed        bool                      // some shell reads its script from its input
	aliases    map[string]string         // what alias defines
	fedText    string                    // a program that is no shell and may run what is in its input
	pushed     int                       // directories that popd would return to
	links      []link                    // that the command makes
	runsFiles  bool                      // some program may run what is in files
	writes     bool                      // some program writes files that it names
	written    map[string]bool           // files that the script writes, and whether it has their whole text
	confined   string                    // why it only reads where nothing can be written
	outside    bool                      // some command shows the machine or asks a service
	beside     bool                      // some other does more than pass on text
	plainInput bool                      // that input is text that is written out
	fileInput  bool                      // that input is a file with a known name
	planted    string                    // literal text that variables may get
	evaluates  bool                      // something evaluates what is in a variable
	setsByName bool                      // a builtin may set a variable that no assignment names
	taken      map[string]bool           // commands and scripts whose inner commands are in Deny
	judged     map[*syntax.CallExpr]bool // commands that were looked at before the budget ended
}

// maxSteps bounds the statements and commands that are looked at, loops unrolled. Beyond it
// the command is not read-only and not exact, but Deny still gets the rest.
const maxSteps = 4000

// maxDepth bounds nesting.
const maxDepth = 100

func newAnalyzer(opts *Options) *analyzer {
	a := &analyzer{
		table: grammar.Builtin(), out: &Analysis{}, vars: map[string]binding{}, literals: map[string][]string{}, steps: maxSteps, denied: map[string]bool{}, taken: map[string]bool{}, judged: map[*syntax.CallExpr]bool{},
	}
	if opts != nil {
		a.opts = *opts
	}
	if a.opts.FS != nil {
		a.opts.FS = Snapshot(a.opts.FS)
	}
	if a.opts.Roots == nil && a.opts.Cwd != "" {
		a.opts.Roots = []string{a.opts.Cwd}
	}
	a.dirs = dirs{a.opts.Cwd}
	return a
}

// fail notes why the command is not read-only; the first reason stays.
func (a *analyzer) fail(reason string) {
	if a.nested == 0 && a.out.Reason == "" {
		a.out.Reason = reason
	}
}

// inexact notes why allow rules cannot decide.
func (a *analyzer) inexact(reason string) {
	if a.nested == 0 && a.out.Inexact == "" {
		a.out.Inexact = reason
	}
}

// refuse notes what is neither read-only nor exact.
func (a *analyzer) refuse(reason string) {
	a.fail(reason)
	a.inexact(reason)
}

func (a *analyzer) finish() *Analysis {
	out := a.out
	if len(out.Deny) == 0 && strings.TrimSpace(a.source) != "" {
		a.addDeny(Command{Words: []string{a.source}, Text: a.source, Dynamic: true})
	}
	if out.Reason != "" && len(out.Allow) == 0 && len(out.Writes) == 0 {
		a.inexact(out.Reason) // no rule could speak about it
	}
	out.Contained = out.Reason == "" && a.confined != "" && out.Inexact == "" && out.Critical == "" && !a.outside
	if out.Reason == "" {
		out.Reason = a.confined
	}
	out.ReadOnly = out.Reason == "" && out.Inexact == "" && out.Critical == ""
	out.Exact = out.Inexact == ""
	out.Outside = out.ReadOnly && a.outside && !a.beside
	if !out.ReadOnly && !out.Contained {
		out.Run = ""
	}
	if out.ReadOnly {
		out.Unseen = ""
	}
	if !out.ReadOnly {
		out.Words = nil
		if out.Reason == "" {
			out.Reason = out.Inexact
		}
	}
	out.Reads = compactPaths(out.Reads)
	out.Writes = compactPaths(out.Writes)
	out.Matched = compactPaths(out.Matched)
	return out
}

func compactPaths(paths []Path) []Path {
	seen := map[Path]bool{}
	return slices.DeleteFunc(paths, func(p Path) bool {
		dup := seen[p]
		seen[p] = true
		return dup
	})
}

// noteLiterals notes the literal values that a script may give to variables.
func (a *analyzer) noteLiterals(script []*syntax.Stmt) {
	note := func(name *syntax.Lit, words ...*syntax.Word) {
		for _, w := range words {
			if name == nil || w == nil || !fixed(w) || len(a.literals[name.Value]) == maxOthers {
				continue
			}
			if text := a.value(w).guess; !slices.Contains(a.literals[name.Value], text) {
				a.literals[name.Value] = append(a.literals[name.Value], text)
			}
		}
	}
	for _, st := range script {
		syntax.Walk(st, func(node syntax.Node) bool {
			switch n := node.(type) {
			case *syntax.Assign:
				note(n.Name, n.Value)
			case *syntax.WordIter:
				note(n.Name, n.Items...)
			case *syntax.ParamExp:
				if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
					note(n.Param, n.Exp.Word)
				}
			}
			return true
		})
	}
}

// setNames returns how often the script may set each variable by other means
// than a for loop, and the variables of its for loops.
func setNames(file *syntax.File) (names map[string]int, looped map[string]bool) {
	names, looped = map[string]int{}, map[string]bool{}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				names[n.Name.Value]++
			}
		case *syntax.CallExpr:
			for _, w := range n.Args { // read x, printf -v x, unset x …
				names[w.Lit()]++
			}
		case *syntax.WordIter:
			looped[n.Name.Value] = true
		case *syntax.ParamExp:
			if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				names[n.Param.Value]++
			}
		}
		return true
	})
	return names, looped
}
