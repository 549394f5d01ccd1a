package bash

import (
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"mvdan.cc/sh/v3/syntax"
)

// A simple is the command that a whole command line comes down to, so that the
// exit code can only be its own: its words as far as they are plain text. The
// zero value is a command line of which that cannot be said.
type simple struct {
	words []string
}

func (s simple) is(name string) bool { return len(s.words) > 0 && s.words[0] == name }

// meaning returns what an exit code of the command answers, "" if it is a
// failure like any.
func (s simple) meaning(code int, output string) string {
	if len(s.words) == 0 || shellComplaint.MatchString(output) {
		return ""
	}
	name := s.name()
	if name == "find" && !onlyDenied(s.words, output) {
		return ""
	}
	for _, a := range answers {
		if a.command == name && a.code == code && (a.with == "" || slices.Contains(s.words[1:], a.with)) {
			return a.meaning
		}
	}
	return ""
}

// name is the command, with its subcommand if it is one that has them.
func (s simple) name() string {
	name := path.Base(s.words[0])
	if name != "git" && name != "systemctl" {
		return name
	}
	for i := 1; i < len(s.words); i++ {
		switch word := s.words[i]; {
		case word == "-C" || word == "-c":
			i++ // their value
		case !strings.HasPrefix(word, "-"):
			return name + " " + word
		}
	}
	return name
}

// onlyDenied reports whether all that find complains of, and it does, is a want
// of permission; a command that find runs may have failed without a word.
func onlyDenied(words []string, output string) bool {
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") }) {
		return false
	}
	denied := false
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "find: ") {
			if !strings.HasSuffix(strings.TrimSpace(line), "Permission denied") {
				return false
			}
			denied = true
		}
	}
	return denied
}

// silentCommands write nothing when all is well.
var silentCommands = strings.Fields(`
	cd mkdir rmdir mv cp rm touch ln chmod chown install export unset set
	true : sleep kill wait test [ [[
`)

func (s simple) silent() bool {
	return len(s.words) > 0 && slices.Contains(silentCommands, path.Base(s.words[0]))
}

// lastCommand finds the command that a shell's exit code comes from. It knows a
// single command, the last of a pipeline, and either of them after cd and &&;
// in anything longer, some other command may have ended the shell.
func lastCommand(text string) simple {
	stmts := parse(text)
	if len(stmts) != 1 {
		return simple{}
	}
	return lastOf(stmts[0])
}

// maxParsed is the longest command that is parsed. The parser recurses: a
// hundred thousand open parentheses take it seconds, a million the process.
const maxParsed = 16 << 10

// parse returns the statements of a command, none if it cannot be read.
func parse(text string) []*syntax.Stmt {
	if len(text) > maxParsed {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file.Stmts
}

func lastOf(stmt *syntax.Stmt) simple {
	if stmt.Negated || stmt.Background || stmt.Coprocess || failsSilently(stmt.Redirs) {
		return simple{}
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return simple{words: unwrap(plainWords(cmd.Args))}
	case *syntax.TestClause:
		return simple{words: []string{"[["}}
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return lastOf(cmd.Stmt)
		}
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll || cmd.Op == syntax.AndStmt && complains(cmd.X) {
			return lastOf(cmd.Y)
		}
	}
	return simple{}
}

// failsSilently reports whether a redirection may fail with nobody to see it:
// the complaint goes where standard error was sent before.
func failsSilently(redirs []*syntax.Redirect) bool {
	return slices.ContainsFunc(redirs, movesErrors) && slices.ContainsFunc(redirs, opensFile)
}

func movesErrors(r *syntax.Redirect) bool {
	return r.N != nil && r.N.Value == "2" || r.Op == syntax.RdrAll || r.Op == syntax.AppAll || r.Op == syntax.DplOut
}

func opensFile(r *syntax.Redirect) bool {
	if r.Hdoc != nil || r.Op == syntax.WordHdoc || r.Op == syntax.DplOut || r.Op == syntax.DplIn {
		return false
	}
	target, _ := plainWord(r.Word)
	return target != "/dev/null"
}

// complains reports whether a command before && fails, if ever, with a complaint
// by the shell itself, so that a failure without one is that of what follows.
func complains(stmt *syntax.Stmt) bool {
	if stmt.Negated || stmt.Background || stmt.Coprocess || len(stmt.Redirs) > 0 {
		return false
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return len(cmd.Assigns) == 0 && len(cmd.Args) > 0 && preparing[plainWords(cmd.Args)[0]]
	case *syntax.BinaryCmd:
		return cmd.Op == syntax.AndStmt && complains(cmd.X) && complains(cmd.Y)
	}
	return false
}

// preparing are builtins that set the stage for the command that counts.
var preparing = map[string]bool{"cd": true, "pushd": true, "popd": true, "echo": true, "printf": true, "pwd": true, "true": true, ":": true}

// plainWords returns words without quotes; a word with an expansion in it is
// "".
func plainWords(args []*syntax.Word) []string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i], _ = plainWord(arg)
	}
	return words
}

// plainWord returns the text of a word that has no expansion in it.
func plainWord(word *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(part.Value))
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar {
				return "", false
			}
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(unescapeQuoted(lit.Value))
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescape takes backslashes off unquoted text.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapeQuoted takes off the backslashes that mean something within double
// quotes.
func unescapeQuoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unwrap takes off commands that run another one and pass on its exit code.
func unwrap(words []string) []string {
	for len(words) > 1 && (words[0] == "command" || words[0] == "nohup" || words[0] == "nice") && !strings.HasPrefix(words[1], "-") {
		words = words[1:]
	}
	return words
}

// answers are exit codes that answer a question rather than report a failure.
var answers = []struct {
	command string // with its subcommand, if it is one that has them
	with    string // a word that must be among the arguments, "" for none
	code    int
	meaning string
}{
	{"grep", "", 1, "No matches found"},
	{"egrep", "", 1, "No matches found"},
	{"fgrep", "", 1, "No matches found"},
	{"zgrep", "", 1, "No matches found"},
	{"rg", "", 1, "No matches found"},
	{"ag", "", 1, "No matches found"},
	{"ack", "", 1, "No matches found"},
	{"git grep", "", 1, "No matches found"},
	{"pgrep", "", 1, "No processes matched"},
	{"diff", "", 1, "Files differ"},
	{"cmp", "", 1, "Files differ"},
	{"git diff", "--exit-code", 1, "There are differences"},
	{"git diff", "--quiet", 1, "There are differences"},
	{"git diff", "--no-index", 1, "There are differences"},
	{"git diff-index", "--exit-code", 1, "There are differences"},
	{"git diff-index", "--quiet", 1, "There are differences"},
	{"git merge-base", "--is-ancestor", 1, "It is not an ancestor"},
	{"git check-ignore", "", 1, "None of the paths is ignored"},
	{"find", "", 1, "Some directories were inaccessible"},
	{"test", "", 1, "Condition is false"},
	{"[", "", 1, "Condition is false"},
	{"[[", "", 1, "Condition is false"},
	{"which", "", 1, "Not found"},
	{"type", "", 1, "Not found"},
	{"command", "-v", 1, "Not found"},
	{"expr", "", 1, "The value is empty or zero"},
	{"systemctl is-active", "", 3, "The unit is not active"},
	{"systemctl is-enabled", "", 1, "The unit is not enabled"},
	{"jq", "-e", 1, "The last output was false or null"},
	{"jq", "-e", 4, "There was no output"},
	{"mountpoint", "", 1, "It is not a mount point"},
	{"mountpoint", "", 32, "It is not a mount point"},
}

// shellComplaint is a line by which bash itself reports a failure.
var shellComplaint = lazyregexp.New(`(?m)^bash: `)
