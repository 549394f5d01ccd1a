package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// render sets Run: the command printed from its tree, in which every word
// whose value is known is replaced by that value, quoted. Comments are gone
// because the parser did not keep them. The tree is changed.
func (a *analyzer) render(file *syntax.File) {
	r := &renderer{a: newAnalyzer(&a.opts)}
	r.a.nested = 1
	a.out.Words = r.program(file)
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CallExpr:
			n.Args = r.words(n.Args)
			for _, as := range n.Assigns {
				if as.Value != nil {
					as.Value = r.words([]*syntax.Word{as.Value})[0]
				}
			}
		case *syntax.WordIter:
			n.Items = r.words(n.Items)
		case *syntax.Redirect:
			if n.Op != syntax.Hdoc && n.Op != syntax.DashHdoc {
				n.Word = r.words([]*syntax.Word{n.Word})[0]
			}
		}
		return true
	})
	var out strings.Builder
	if err := syntax.NewPrinter(syntax.Minify(false)).Print(&out, file); err != nil {
		a.refuse("the command cannot be printed: " + err.Error())
		return
	}
	a.out.Run = strings.TrimSuffix(out.String(), "\n")
}

type renderer struct{ a *analyzer }

// program returns the words of a script that only starts one program; nil of any other.
func (r *renderer) program(file *syntax.File) []string {
	if len(file.Stmts) != 1 {
		return nil
	}
	st := file.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Background || st.Coprocess || len(st.Redirs)+len(call.Assigns) > 0 {
		return nil
	}
	var words []string
	for _, w := range call.Args {
		for _, one := range r.a.braces(w) {
			v := r.a.value(one)
			if !fixed(one) || !v.Known() || v.refuse != "" {
				return nil
			}
			words = append(words, v.Value)
		}
	}
	if len(words) == 0 || words[0] == "" || ownCommand(words[0]) {
		return nil
	}
	return words
}

// ownCommand reports whether bash does not look for a program of this name, as compgen -b -k
// lists them.
func ownCommand(name string) bool {
	switch name {
	case ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen", "complete", "compopt", "continue", "declare", "dirs", "disown",
		"echo", "enable", "eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile",
		"popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test", "times", "trap", "true", "type",
		"typeset", "ulimit", "umask", "unalias", "unset", "wait",
		"if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done", "in", "function", "time", "{", "}", "!", "[[", "]]", "coproc":
		return true
	}
	return false
}

// words replaces those words that are plain text.
func (r *renderer) words(list []*syntax.Word) []*syntax.Word {
	var out []*syntax.Word
	for _, w := range list {
		for _, one := range r.a.braces(w) {
			if fixed(one) {
				if v := r.a.value(one); v.Known() && v.refuse == "" {
					one = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: quote(v.Value)}}}
				}
			}
			out = append(out, one)
		}
	}
	return out
}

// fixed reports whether a word holds no expansion of variables or commands.
func fixed(w *syntax.Word) bool {
	ok := true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.ExtGlob:
			ok = false
		}
		return ok
	})
	return ok
}

// quote returns s as one word of bash.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@%+=") == "" && (s[0] == '-' || !strings.Contains(s, "=")) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
