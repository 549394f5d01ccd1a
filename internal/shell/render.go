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
