package trust

import (
	"os"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// values returns what a word can stand for; nil if that cannot be known.
func (b *binder) values(w *syntax.Word) []string { return b.parts(w.Parts, false) }

// parts joins what the parts of a word can stand for. Pattern characters that are
// quoted do not match anything, but no name of a file needs them.
func (b *binder) parts(parts []syntax.WordPart, quoted bool) []string {
	values := []string{""}
	for _, p := range parts {
		some := b.part(p, quoted)
		if some == nil || len(some)*len(values) > maxValues {
			return nil
		}
		var joined []string
		for _, v := range values {
			for _, s := range some {
				joined = append(joined, v+s)
			}
		}
		values = joined
	}
	return values
}

func (b *binder) part(p syntax.WordPart, quoted bool) []string {
	switch p := p.(type) {
	case *syntax.Lit:
		return []string{unescape(p.Value, quoted)}
	case *syntax.SglQuoted:
		if p.Dollar {
			return nil
		}
		return []string{p.Value}
	case *syntax.DblQuoted:
		return b.parts(p.Parts, true)
	case *syntax.ParamExp:
		return b.parameter(p)
	case *syntax.CmdSubst:
		return b.substituted(p)
	}
	return nil
}

func unescape(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// parameter returns what a variable can stand for: what the command assigns, the
// project's folder, or what the environment holds, which is bound with the rest.
func (b *binder) parameter(p *syntax.ParamExp) []string {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		return nil
	}
	var fallback []string
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
			if fallback = []string{""}; p.Exp.Word != nil {
				fallback = b.values(p.Exp.Word)
			}
			if fallback == nil {
				return nil
			}
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		default:
			return nil
		}
	}
	name := p.Param.Value
	if values, assigned := b.vars[name]; assigned {
		if values == nil {
			return nil
		}
		return append(values, fallback...)
	}
	switch name {
	case "CLAUDE_PROJECT_DIR", "HAFT_PROJECT_DIR":
		return []string{b.h.project}
	case "PWD":
		return b.dirs
	}
	value, set := os.LookupEnv(name)
	if !set {
		return fallback
	}
	b.found["$"+name] = value
	return append([]string{value}, fallback...)
}

// substituted returns what a command prints, where that is known: the folder.
func (b *binder) substituted(c *syntax.CmdSubst) []string {
	if len(c.Stmts) != 1 {
		return nil
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	var words []string
	for _, w := range call.Args {
		words = append(words, w.Lit())
	}
	switch strings.Join(words, " ") {
	case "pwd":
		return b.dirs
	case "git rev-parse --show-toplevel":
		return []string{b.h.base}
	}
	return nil
}
